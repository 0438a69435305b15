import { CassetteError, runCassette } from '../../validation/cassettes/cassette.ts'
import { cassetteCase } from '../../validation/cassettes/cassette-case.ts'
import { storedRun, type TenantOptions } from '../stored-run.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { writeWhole } from '../write-whole.ts'

export interface RunsSaveOptions extends TenantOptions {
  readonly out?: string
  readonly asCase?: boolean
}

/** `toolyard runs save`: a run as a cassette, or as a case of a suite. */
export async function runsSave(terminal: Terminal, id: string, options: RunsSaveOptions): Promise<number> {
  const { out, asCase } = options
  const cassette = await saved(() => storedRun(id, options).then(runCassette))
  if (!cassette.complete) terminal.note(`The cassette is not complete: ${cassette.incomplete.join(' ')}`)
  const written = asCase ? await saved(async () => cassetteCase(cassette)) : cassette
  if (out !== undefined) {
    await writeWhole(out, asCase ? caseFile(out, written) : `${JSON.stringify(written, undefined, 2)}\n`)
    if (terminal.json) terminal.document({ id, file: out, complete: cassette.complete })
    else terminal.note(`Written to ${out}.`)
  } else if (asCase || terminal.json) terminal.result(JSON.stringify(written))
  else terminal.result(JSON.stringify(written, undefined, 2))
  return 0
}

/** One line where files have a case a line, else a suite with one case. */
const caseFile = (file: string, one: unknown): string =>
  /\.(?:jsonl|ndjson)$/i.test(file) ? `${JSON.stringify(one)}\n` : `${JSON.stringify({ cases: [one] }, undefined, 2)}\n`

async function saved<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof CassetteError) throw new UsageError(`${error.message}.`, { cause: error })
    throw error
  }
}
