import type { ToolDefinition } from '../../core/tool.ts'
import { loadBfcl } from '../bfcl/load-bfcl.ts'
import { buildSuite } from './build-suite.ts'
import { dataSetsFolder } from './data-sets-folder.ts'
import { generateSuite } from './generate-suite.ts'
import { readSuiteFile } from './read-suite-file.ts'
import type { Suite } from './suite.ts'
import { SuiteError } from './suite-error.ts'

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
