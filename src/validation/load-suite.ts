import type { ToolDefinition } from '../core/tool.ts'
import { dataSetsFolder } from './bfcl/bfcl-category.ts'
import { loadBfcl } from './bfcl/load-bfcl.ts'
import { generateSuite } from './suites/generate-suite.ts'
import { buildSuite, readSuiteFile } from './suites/read-suite-file.ts'
import { type Suite, SuiteError } from './suites/suite.ts'

interface LoadSuiteOptions {
  readonly definitions: readonly ToolDefinition[]
  /** The folder with data sets; `dataSetsFolder()` by default. */
  readonly dataFolder?: string
}

const BFCL = 'bfcl:'

/** Loads a suite by name: `bfcl:<category>`, `generated`, or the path of a file. Rejects with a `SuiteError`. */
export async function loadSuite(name: string, { definitions, dataFolder }: LoadSuiteOptions): Promise<Suite> {
  if (name.startsWith(BFCL)) return loadBfcl(name.slice(BFCL.length), dataFolder ?? dataSetsFolder())
  if (name !== 'generated') return buildSuite(await readSuiteFile(name), definitions)
  const { cases, remark } = generateSuite(definitions)
  if (cases.length === 0) throw new SuiteError('No suite can be generated: there are no tools. Register one.')
  const unchecked = cases.map((value) => ({ place: 'generated', value }))
  return buildSuite({ name, cases: unchecked, ...(remark !== undefined && { remark }) }, definitions)
}

/** Rejects with a `SuiteError`, also if two suites have the same name: their results would mix. */
export async function loadSuites(names: readonly string[], options: LoadSuiteOptions): Promise<Suite[]> {
  const suites = new Map<string, Suite>()
  for (const name of names) {
    const suite = await loadSuite(name, options)
    if (suites.has(suite.name)) {
      throw new SuiteError(`Two suites are named "${suite.name}": rename or remove one of them.`)
    }
    suites.set(suite.name, suite)
  }
  return [...suites.values()]
}
