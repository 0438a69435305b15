import type { ApiOperation } from './api-operation.ts'
import { plainText, sentences, shortened } from './plain-text.ts'
import { own } from './raw.ts'

const LONGEST = 1024

/** What an operation does, as one plain paragraph: its summary and its description, or at least its path. */
export function describeOperation({ operation: { value }, label }: ApiOperation): string {
  const summary = plainText(own(value, 'summary'), LONGEST)
  const description = plainText(own(value, 'description'), LONGEST)
  const repeats = description.toLowerCase().startsWith(summary.toLowerCase().replace(/\.$/, ''))
  const said = (repeats ? description : sentences(summary, description)) || plainText(label, LONGEST)
  const mark = own(value, 'deprecated') === true ? 'Deprecated.' : ''
  return shortened(sentences(mark, said), LONGEST)
}
