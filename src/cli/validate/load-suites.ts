import type { ToolDefinition } from '../../core/tool.ts'
import { generateSuite } from '../../validation/suites/generate-suite.ts'
import { loadSuites as load } from '../../validation/suites/load-suites.ts'
import type { Suite } from '../../validation/suites/suite.ts'
import { SuiteError } from '../../validation/suites/suite-error.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { writeNew } from './write-new.ts'

/** Loads suites by name. One that cannot be loaded is the user's to mend, and so are two of the same name. */
export async function loadSuites(names: readonly string[], definitions: readonly ToolDefinition[]): Promise<Suite[]> {
  return load(names, { definitions }).catch((error: unknown) => {
    throw error instanceof SuiteError ? new UsageError(error.message, { cause: error }) : error
  })
}

/** Writes the suite that is made of the tools, to be edited: to a file that there is not yet, else to stdout. */
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
  const path = terminal.path(file)
  await writeNew(path, `${JSON.stringify(suite, undefined, 2)}\n`)
  if (terminal.json) terminal.document({ file: path, cases: suite.cases.length })
  terminal.note(printableLine(`${suite.cases.length} cases: edit them, then toolyard validate --suite ${file}`))
  return 0
}
