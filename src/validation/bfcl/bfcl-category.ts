import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { suggest } from '../../core/suggest.ts'
import { SuiteError } from '../suites/suite.ts'

export type BfclLanguage = 'python' | 'java' | 'javascript'

type BfclRule = 'calls' | 'no_call'

export interface BfclCategory {
  readonly name: string
  readonly language: BfclLanguage
  readonly rule: BfclRule
}

const category = (name: string, language: BfclLanguage = 'python', rule: BfclRule = 'calls'): BfclCategory => ({
  name,
  language,
  rule,
})

/** The categories of the Berkeley Function-Calling Leaderboard that need nothing but a model. */
export const BFCL_CATEGORIES: readonly BfclCategory[] = [
  category('simple_python'),
  category('simple_java', 'java'),
  category('simple_javascript', 'javascript'),
  category('multiple'),
  category('parallel'),
  category('parallel_multiple'),
  category('irrelevance', 'python', 'no_call'),
  category('live_simple'),
  category('live_parallel'),
]

/** Finds a category by name (`simple` means `simple_python`); throws a `SuiteError` that lists the categories. */
export function bfclCategory(name: string): BfclCategory {
  const wanted = name === 'simple' ? 'simple_python' : name
  const found = BFCL_CATEGORIES.find((one) => one.name === wanted)
  if (found !== undefined) return found
  const names = BFCL_CATEGORIES.map((one) => one.name)
  const [near] = suggest(name, names)
  const fix = near === undefined ? `use one of ${names.join(', ')}.` : `did you mean 'bfcl:${near}'?`
  throw new SuiteError(`Unknown BFCL category "${name}": ${fix}`)
}

const DEFAULT_DATA_SETS = join(import.meta.dirname, '../../../../shared/data')

export const HOW_TO_GET_BFCL =
  'the cases are at https://github.com/ShishirPatil/gorilla in berkeley-function-call-leaderboard/bfcl_eval/data. ' +
  'Copy that folder as "bfcl" into a folder of your own, and set TOOLYARD_DATA_SETS to yours.'

/** `TOOLYARD_DATA_SETS`, else the folder beside the project. Throws a `SuiteError` if it has no BFCL. */
export function dataSetsFolder(env: NodeJS.ProcessEnv = process.env): string {
  const named = env.TOOLYARD_DATA_SETS
  const folder = named || DEFAULT_DATA_SETS
  if (existsSync(join(folder, 'bfcl'))) return folder
  const missing = named ? `There is no folder "bfcl" in "${named}" (TOOLYARD_DATA_SETS)` : 'BFCL is not on this machine'
  throw new SuiteError(`${missing}: ${HOW_TO_GET_BFCL}`)
}

export const questionFile = (folder: string, { name }: BfclCategory): string =>
  join(folder, 'bfcl', `BFCL_v4_${name}.json`)
