import { wordsOfName } from '../pair-texts.ts'

const LOOK_BACK = 40
const BETWEEN =
  /^(?:\s*(?:(?:of|is|are|as|was|equals?|to|at|the|be|should be|set to|named|called|=|:|-)\s*)+(?:["'“([$€£]+\s*)?|["'“([$€£]*\s*)$/i

/** Whether the value is said right after the parameter's own name: "a gauge pressure of 2". */
export function namedBefore(parameter: string, said: string, from: number): boolean {
  const before = said.slice(Math.max(0, from - LOOK_BACK), from).toLowerCase()
  const names = wordsOfName(parameter).split(' ')
  const last = names.at(-1) as string
  const first = names[0] as string
  const at = before.lastIndexOf(last)
  if (at < 0 || /[a-z0-9]/.test(before[at + last.length] ?? '') || /[a-z0-9]/.test(before[at - 1] ?? '')) return false
  if (!BETWEEN.test(before.slice(at + last.length))) return false
  return names.length === 1 || before.slice(0, at).includes(first.slice(0, 4))
}
