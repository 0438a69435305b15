import { suggest } from '../../core/suggest.ts'
import { SuiteError } from '../suites/suite-error.ts'

/** In which language the values of a category are written. */
export type BfclLanguage = 'python' | 'java' | 'javascript'

/** How a category is judged. */
export type BfclRule = 'calls' | 'no_call' | 'turns'

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
  category('multi_turn_base', 'python', 'turns'),
]

/** A category by its name, `simple` being `simple_python`; throws a `SuiteError` that names those there are. */
export function bfclCategory(name: string): BfclCategory {
  const wanted = name === 'simple' ? 'simple_python' : name
  const found = BFCL_CATEGORIES.find((one) => one.name === wanted)
  if (found !== undefined) return found
  const names = BFCL_CATEGORIES.map((one) => one.name)
  const [near] = suggest(name, names)
  const fix = near === undefined ? `use one of ${names.join(', ')}.` : `did you mean 'bfcl:${near}'?`
  throw new SuiteError(`BFCL has no category "${name}" here: ${fix}`)
}
