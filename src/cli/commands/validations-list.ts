import { currentTool, schemaHash, type ToolUseRecord, toolUseRecord } from '../../validation/tool-use/tool-use.ts'
import { awaitServers, SHORT_WAIT_MS } from '../await-servers.ts'
import { openManager } from '../open-manager.ts'
import { readStore } from '../open-store.ts'
import { showTable } from '../show-table.ts'
import { startManager } from '../start-manager.ts'
import { type TenantOptions, tenantOf } from '../stored-run.ts'
import type { Terminal } from '../terminal.ts'

/** `toolyard validations list`: how well each model uses each tool. */
export async function validationsList(terminal: Terminal, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const stored = await readStore(options, ({ toolUse }) => toolUse.list(tenant), [])
  const opened = await openManager(options, (config) => config, startManager)
  let records: ToolUseRecord[]
  try {
    await awaitServers(opened.manager, { ms: SHORT_WAIT_MS })
    const find = currentTool(opened.manager.getRegistry())
    records = stored.map((use) =>
      toolUseRecord(use, (tool) => {
        const current = find(tool)
        return current && schemaHash(current)
      }),
    )
  } finally {
    await opened.close()
  }
  if (terminal.json) terminal.document({ tool_use: records })
  else if (records.length === 0)
    terminal.note('Nothing is known yet: "toolyard validate" finds out, and so does every run.')
  else showTable(terminal, [HEAD, ...records.map(rowOf)])
  return 0
}

const HEAD = ['MODEL', 'TOOL', 'SUCCEEDED', 'RATE', 'AT LEAST', 'LAST', 'SCHEMA', 'FAILED BY']

const rowOf = (use: ToolUseRecord): string[] => [
  use.model_id,
  use.tool,
  `${use.successes} of ${use.trials}`,
  use.rate.toFixed(2),
  use.lower_bound.toFixed(2),
  use.last_used,
  use.schema,
  Object.entries(use.failure_kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', '),
]
