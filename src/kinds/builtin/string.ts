import type { Handler } from '../../core/handler.ts'
import type { Params } from '../../core/tool.ts'
import { badParameter, quoted, readInteger, readText, requireText } from './read-parameter.ts'

/** Splitting this much text into characters takes about 20 ms. */
const MAX_TEXT = 100_000
/** Searching takes time in proportion to both lengths: 100,000 × 50,000 took two seconds. */
const MAX_SEARCH = 1_000
const MAX_RESULT = 1_000_000

/** Text operations: `{operation, text, …}` returns `{result}`. Parameters are never read as patterns. */
export const string: Handler = (params) => {
  const operation = requireText(params, 'operation', 100)
  const work = OPERATIONS.get(operation)
  if (work === undefined) {
    throw badParameter(`operation must be one of: ${[...OPERATIONS.keys()].join(', ')}, not ${quoted(operation)}`)
  }
  return { result: work(requireText(params, 'text', MAX_TEXT), params) }
}

const OPERATIONS = new Map<string, (text: string, params: Params) => unknown>([
  ['upper', (text) => text.toUpperCase()],
  ['lower', (text) => text.toLowerCase()],
  ['title', title],
  ['trim', (text) => text.trim()],
  ['length', (text) => characters(text).length],
  ['reverse', (text) => characters(text).reverse().join('')],
  ['contains', (text, params) => text.includes(search(params))],
  ['count', (text, params) => occurrences(text, search(params))],
  ['replace', replace],
  ['split', split],
  ['slice', slice],
  ['slug', slug],
])

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Splits a text into graphemes: an emoji or an accented letter is one. */
const characters = (text: string): string[] => Array.from(segmenter.segment(text), (one) => one.segment)

function title(text: string): string {
  return text.replace(/(\p{L})([\p{L}\p{M}\p{N}'’]*)/gu, (_, first: string, rest: string) => {
    return first.toUpperCase() + rest.toLowerCase()
  })
}

function search(params: Params): string {
  const wanted = requireText(params, 'search', MAX_SEARCH)
  if (wanted === '') throw badParameter('search must not be empty')
  return wanted
}

function occurrences(text: string, wanted: string): number {
  let count = 0
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) count++
  return count
}

function replace(text: string, params: Params): string {
  const wanted = search(params)
  const replacement = requireText(params, 'replacement', MAX_TEXT)
  const length = text.length + occurrences(text, wanted) * (replacement.length - wanted.length)
  if (length > MAX_RESULT) {
    throw badParameter(`the result would have ${length} characters, and at most ${MAX_RESULT} are allowed`)
  }
  return text.replaceAll(wanted, () => replacement)
}

function split(text: string, params: Params): string[] {
  const separator = readText(params, 'separator', MAX_SEARCH)
  if (separator === undefined) return text.split(/\s+/u).filter((word) => word !== '')
  return separator === '' ? characters(text) : text.split(separator)
}

function slice(text: string, params: Params): string {
  return characters(text)
    .slice(readInteger(params, 'start') ?? 0, readInteger(params, 'end'))
    .join('')
}

/** Removes accents from Latin letters only: in other scripts the marks are vowels. */
function slug(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
}
