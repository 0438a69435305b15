import { says } from './described-options.ts'
import { synonymsOf } from './synonyms.ts'

/** How plainly an option is said, and where. */
export interface SaidOption {
  readonly index: number
  /** From 0, not at all, to 3, by its name. */
  readonly evidence: number
  readonly from: number
  readonly to: number
}

/** How plainly each option is said: by its name, by another word for it, or by a word that only it has. */
export function saidOptions(options: readonly unknown[], said: string): SaidOption[] {
  const words = options.map(wordsOf)
  return options.map((option, index) => {
    const name = String(option)
    if (name.length > 1 && says(said, name)) return found(index, 3, said, name)
    const other = synonymsOf(name).find((word) => says(said, word))
    if (other !== undefined) return found(index, 2.5, said, other)
    const own = (words[index] as string[]).filter(
      (word) => word.length > 1 && words.every((others, at) => at === index || !others.includes(word)),
    )
    const part = own.find((word) => [word, ...synonymsOf(word)].some((one) => saysStem(said, one)))
    return part === undefined ? { index, evidence: 0, from: -1, to: -1 } : found(index, 1, said, part)
  })
}

const EMPTY = new Set(
  'a an the of in at to for and or is it by with all any none no not set get last next first time date day type per'.split(
    ' ',
  ),
)

const wordsOf = (option: unknown): string[] =>
  String(option)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !EMPTY.has(word))

/** In any form: "cooling" for cool, "locked" for lock. */
function saysStem(said: string, word: string): boolean {
  if (word.includes(' ') || word.length < 4) return says(said, word)
  const ending = word.replace(/(?:ing|ed|er|es|s|e|y)$/, '')
  const [start = ''] = /^[\p{L}\p{N}]*/u.exec(ending) ?? []
  // Most options are not said at all, and a pattern for each is expensive.
  if (!said.toLowerCase().includes(start.toLowerCase())) return false
  const stem = ending.replaceAll(/[^\p{L}\p{N}]/gu, '.')
  return new RegExp(`(?<!\\p{L})${stem}(?:ing|ed|er|es|s|e|y|ies|ly)?(?!\\p{L})`, 'iu').test(said)
}

function found(index: number, evidence: number, said: string, words: string): SaidOption {
  const loose = words
    .replace(/(?<=\p{L}{4})(?:ing|ed|es|s|e|y)$/u, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '[^\\p{L}\\p{N}]+')
  const match = new RegExp(loose, 'iu').exec(said)
  return { index, evidence, from: match?.index ?? -1, to: match === null ? -1 : match.index + match[0].length }
}
