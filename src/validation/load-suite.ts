import type { ToolDefinition } from '../core/tool.ts'
import { dataSetsFolder } from './bfcl/bfcl-category.ts'
import { loadBfcl } from './bfcl/load-bfcl.ts'
import { buildSuite } from './suites/build-suite.ts'
import { generateSuite } from './suites/generate-suite.ts'
import { readSuiteFile } from './suites/read-suite-file.ts'
import { type Suite, SuiteError } from './suites/suite.ts'

export interface LoadSuiteOptions {
  /** The registered tools. */
  readonly definitions: readonly ToolDefinition[]
  /** Where data sets are; by default `dataSetsFolder()`. */
  readonly dataFolder?: string
}

const BFCL = 'bfcl:'

/** Loads a suite by name: `bfcl:<category>`, `generated`, or the path of a file. Rejects with a `SuiteError`. */
export async function loadSuite(name: string, { definitions, dataFolder }: LoadSuiteOptions): Promise<Suite> {
  if (name.startsWith(BFCL)) return loadBfcl(name.slice(BFCL.length), dataFolder ?? dataSetsFolder())
  if (name !== 'generated') return buildSuite(await readSuiteFile(name), definitions)
  const { cases, remark } = generateSuite(definitions)
  if (cases.length === 0) throw new SuiteError('No suite can be generated: there are no tools. Register one.')
  const written = cases.map((value) => ({ place: 'generated', value }))
  return buildSuite({ name, cases: written, ...(remark !== undefined && { remark }) }, definitions)
}

/** Loads suites by name; of two that are called the same one could not tell the results apart. Rejects with a `SuiteError`. */
export async function loadSuites(names: readonly string[], options: LoadSuiteOptions): Promise<Suite[]> {
  const suites = new Map<string, Suite>()
  for (const name of names) {
    const suite = await loadSuite(name, options)
    if (suites.has(suite.name)) {
      throw new SuiteError(`Two suites are called "${suite.name}": give one of them another name, or leave it out.`)
    }
    suites.set(suite.name, suite)
  }
  return [...suites.values()]
}
