import type { ListedRun, RunPage } from '../../core/storage/run-store.ts'
import { readStore } from '../open.ts'
import { printableLine } from '../printable.ts'
import { showTable } from '../show-table.ts'
import { type TenantOptions, tenantOf } from '../stored-run.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface RunsListOptions extends TenantOptions {
  readonly model?: string
  readonly stopReason?: string
  readonly limit?: string
  readonly cursor?: string
}

const NOTHING: RunPage = { runs: [] }
const USUAL_LIMIT = '50'
const LONGEST_QUESTION = 60

/** `toolyard runs list`: what was asked, the newest first. */
export async function runsList(terminal: Terminal, options: RunsListOptions): Promise<number> {
  const { model, stopReason, cursor, limit = USUAL_LIMIT } = options
  const filter = {
    tenant: tenantOf(options),
    limit: readLimit(limit),
    ...(model !== undefined && { model }),
    ...(stopReason !== undefined && { stopReason }),
    ...(cursor !== undefined && { cursor }),
  }
  const page = await readStore(terminal, options, ({ runs }) => runs.list(filter), NOTHING)
  if (terminal.json) terminal.document(page)
  else if (page.runs.length === 0) terminal.note('No runs are kept that fit.')
  else {
    showTable(terminal, [HEAD, ...page.runs.map(rowOf)])
    if (page.next !== undefined) terminal.note(`There are more: --cursor ${page.next}`)
  }
  return 0
}

const HEAD = ['ID', 'TIME', 'MODEL', 'END', 'CALLS', 'MS', 'QUESTION']

const rowOf = ({ id, started_at, model, stop_reason, tool_calls, duration_ms, question }: ListedRun): string[] => [
  id,
  started_at,
  model,
  stop_reason,
  String(tool_calls),
  String(Math.round(duration_ms)),
  question.length > LONGEST_QUESTION ? `${question.slice(0, LONGEST_QUESTION)}…` : question,
]

function readLimit(text: string): number {
  const limit = Number(text)
  if (/^\d{1,3}$/.test(text) && limit >= 1 && limit <= 200) return limit
  throw new UsageError(`--limit takes a number from 1 to 200, not '${printableLine(text)}'.`)
}
