import { resolve } from 'node:path'
import type { ToolDefinition } from '../../core/tool.ts'
import { generateSuite } from '../../validation/suites/generate-suite.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { writeNew } from './write-new.ts'

/** Writes the suite generated from the tools to a new file, or to stdout if none is given. */
export async function generateFile(
  terminal: Terminal,
  definitions: readonly ToolDefinition[],
  file: string | undefined,
): Promise<number> {
  const suite = generateSuite(definitions)
  if (suite.cases.length === 0) throw new UsageError('No suite can be generated: there are no tools. Register one.')
  if (file === undefined) {
    if (terminal.json) terminal.document(suite)
    else terminal.result(JSON.stringify(suite, undefined, 2))
    return 0
  }
  const path = resolve(file)
  await writeNew(path, `${JSON.stringify(suite, undefined, 2)}\n`)
  if (terminal.json) terminal.document({ file: path, cases: suite.cases.length })
  terminal.note(printableLine(`${suite.cases.length} cases: edit them, then toolyard validate --suite ${file}`))
  return 0
}
