import { suggest } from '../../../core/suggest.ts'
import type { BlockKind } from '../../documents/document.ts'
import {
  FIRST_NAMES,
  isPlace,
  ORGANIZATION_ENDS,
  ORGANIZATION_HEADS,
  ORGANIZATIONS,
  OTHER_NAMES,
  PLACE_ENDS,
  PLACE_STARTS,
  ROLES,
  SPEECH,
  TITLES,
} from './names.ts'
import { isSilent, readSentences, type Turn, windows } from './prose.ts'

/** What the rules find, in the order of the documentation. */
export const ENTITY_TYPES = [
  'people',
  'places',
  'organizations',
  'dates',
  'emails',
  'urls',
  'amounts',
  'percentages',
  'phone_numbers',
] as const

type EntityType = (typeof ENTITY_TYPES)[number]

/** Other words for the types. */
const SYNONYMS: Readonly<Record<string, EntityType>> = {
  person: 'people',
  persons: 'people',
  names: 'people',
  place: 'places',
  location: 'places',
  locations: 'places',
  cities: 'places',
  countries: 'places',
  organization: 'organizations',
  organisation: 'organizations',
  organisations: 'organizations',
  company: 'organizations',
  companies: 'organizations',
  date: 'dates',
  email: 'emails',
  email_addresses: 'emails',
  url: 'urls',
  links: 'urls',
  amount: 'amounts',
  money: 'amounts',
  prices: 'amounts',
  percentage: 'percentages',
  percent: 'percentages',
  phones: 'phone_numbers',
  phone: 'phone_numbers',
}

/** The type that a name means; undefined if the rules don't know it. */
export function entityType(name: string): EntityType | undefined {
  const key = name.trim().toLowerCase().replaceAll(/[\s-]/g, '_')
  if (Object.hasOwn(SYNONYMS, key)) return SYNONYMS[key]
  return ENTITY_TYPES.find((type) => type === key) ?? (suggest(key, ENTITY_TYPES)[0] as EntityType | undefined)
}

/** An entity of each type is listed once, as it is written first. */
const MAX_ENTITIES = 200

class Found {
  readonly #lists = new Map<EntityType, Map<string, string>>(ENTITY_TYPES.map((type) => [type, new Map()]))

  add(type: EntityType, text: string): void {
    const list = this.#lists.get(type) as Map<string, string>
    if (text !== '' && list.size < MAX_ENTITIES && !list.has(text.toLowerCase())) list.set(text.toLowerCase(), text)
  }

  of(type: EntityType): string[] {
    return [...(this.#lists.get(type)?.values() ?? [])]
  }
}

const EVERYTHING: ReadonlySet<BlockKind> = new Set(['heading', 'prose', 'list', 'table', 'record'])

/** Finds the entities of a text by rules: lists of names, the words around a name, and the forms of dates and amounts. */
export async function findEntities(content: string, turn: Turn = () => {}): Promise<(type: EntityType) => string[]> {
  const found = new Found()
  for (const part of windows(content)) {
    for (const [type, pattern] of ADDRESSES)
      for (const [match] of part.matchAll(pattern)) found.add(type, match.replace(/[.,;:!?]$/, ''))
    await turn()
  }
  for (const { text, kind } of await readSentences(content, EVERYTHING, turn)) {
    for (const [type, pattern] of FORMS)
      for (const { 0: whole, 1: part } of text.matchAll(pattern)) found.add(type, part ?? whole)
    // Every word of a heading may have a capital.
    if (kind !== 'heading') {
      for (const run of nameRuns(text)) for (const [type, name] of entitiesIn(run)) found.add(type, name)
    }
    await turn()
  }
  return (type) => (type === 'people' ? withoutParts(found.of(type)) : found.of(type))
}

/** "Nygaard" after "Lars Nygaard" is the same person. */
function withoutParts(names: readonly string[]): string[] {
  const parts = new Set(names.flatMap((name) => name.split(' ').slice(name.includes(' ') ? 0 : 1)))
  return names.filter((name) => name.includes(' ') || !parts.has(name))
}

const ADDRESSES: readonly (readonly [EntityType, RegExp])[] = [
  ['emails', /(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g],
  ['urls', /https?:\/\/[^\s<>"'`()[\]{}|]{1,2000}|(?<![\w./@-])www\.[^\s<>"'`()[\]{}|]{3,2000}/gi],
  ['phone_numbers', /(?<![\w+])\+\d[\d ().-]{6,18}\d(?!\d)/g],
]

const MONTH = String.raw`(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)`
const DATE = [
  String.raw`\b\d{4}-\d{2}-\d{2}\b`,
  String.raw`(?<![\d.])\d{1,2}(?:\/\d{1,2}\/(?:\d{4}|\d{2})|\.\d{1,2}\.\d{4})\b`,
  String.raw`\b\d{1,2}(?:st|nd|rd|th)? (?:of )?${MONTH}(?:,? \d{4})?(?![\w])`,
  String.raw`\b${MONTH} \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?(?![\w])`,
  String.raw`\b${MONTH} \d{4}\b`,
  String.raw`\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b`,
  String.raw`\b(?:in|since|until|by|from|before|after|during) ((?:19|20)\d{2})\b(?![-/.]\d)`,
].join('|')
const NUMBER = String.raw`\d{1,15}(?:[.,]\d{1,9}){0,6}`
const SCALE = '(?: (?:thousand|million|billion|trillion)|[kKmM]|bn)?'
const CURRENCY = `(?:US |Canadian |Australian )?(?:dollars?|euros?|pounds?|yen|yuan|rupees?|francs?|kroner|kronor|rubles?|cents?|USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|NOK|SEK|DKK)`
const AMOUNT = String.raw`(?:US\$|[$€£¥₹]|(?:USD|EUR|GBP|CHF|NOK|SEK|DKK) )${NUMBER}${SCALE}\b|\b${NUMBER}${SCALE} ?(?:${CURRENCY}\b|[€£])`

const FORMS: readonly (readonly [EntityType, RegExp])[] = [
  ['dates', new RegExp(DATE, 'g')],
  ['amounts', new RegExp(AMOUNT, 'g')],
  ['percentages', /(?<![\d.,])\d{1,15}(?:[.,]\d{1,9})?(?: ?%| percent\b| per cent\b)/g],
]

interface Word {
  readonly text: string
  readonly lower: string
  readonly at: number
  readonly end: number
}

/** Consecutive words with a capital, with the words around them. */
interface Run {
  readonly sentence: string
  readonly words: readonly Word[]
  readonly opens: boolean
  readonly before: string
  readonly after: string
  /** What follows directly: a comma, an age, or nothing. */
  readonly tail: string
}

const WORD = /[\p{L}\p{N}]+(?:['’&-][\p{L}\p{N}]+)*/gu
const CAPITAL = /^\p{Lu}/u
/** Join two capitalized words. */
const JOINTS = new Set([
  'of',
  'de',
  'del',
  'la',
  'le',
  'van',
  'von',
  'der',
  'den',
  'di',
  'da',
  'dos',
  'bin',
  'al',
  'el',
])

function* nameRuns(sentence: string): Generator<Run> {
  const words = [...sentence.matchAll(WORD)].map(({ 0: matched, index }): Word => {
    const text = matched.replace(/['’]s$/, '')
    return { text, lower: text.toLowerCase(), at: index, end: index + matched.length }
  })
  for (let from = 0; from < words.length; from++) {
    if (!isCapital(words[from])) continue
    let to = from + 1
    for (; to < words.length; to++) {
      const gap = sentence.slice(words[to - 1]?.end, words[to]?.at)
      const joined = gap === ' ' || gap === ' & ' || (gap === '. ' && continues(words[to - 1] as Word))
      if (!joined) break
      if (isCapital(words[to])) continue
      // A possessive ends a name, and a joint needs a capital after it.
      if (!JOINTS.has(words[to]?.lower ?? '') || !isCapital(words[to + 1])) break
      if (sentence.slice(words[to]?.end, words[to + 1]?.at) !== ' ') break
    }
    const end = words[to - 1]?.end ?? sentence.length
    yield {
      sentence,
      words: words.slice(from, to),
      opens:
        from === 0 || /[.!?:"“”—–]\s?$/.test(sentence.slice(Math.max(0, (words[from]?.at ?? 0) - 2), words[from]?.at)),
      before: words[from - 1]?.lower ?? '',
      after: words[to]?.lower ?? '',
      tail: sentence.slice(end, end + 40),
    }
    from = to - 1
  }
}

const isCapital = (word: Word | undefined): boolean => word !== undefined && CAPITAL.test(word.text)
const continues = ({ text, lower }: Word): boolean => text.length === 1 || TITLES.has(lower)

type Named = readonly [EntityType, string]

/** The entities in a run of capitalized words, often one or none. */
function entitiesIn(run: Run): readonly Named[] {
  const words = withoutOpening(run)
  const { sentence, tail } = run
  const name = written(sentence, words)
  const lower = name.toLowerCase()
  const [first, last] = [words[0]?.lower ?? '', words.at(-1)?.lower ?? '']
  if (words.length === 0 || OTHER_NAMES.has(lower)) return []
  if (isOrganization(words, lower, first, last)) return [['organizations', name]]
  if (isPlace(lower)) return [['places', casing(name)]]
  if (TITLES.has(first)) return titled({ ...run, words })
  const [head, of] = splitAt(words, 'of')
  if (of.length > 0 && head.length > 0) return [head, of].flatMap((part) => entitiesIn(alone(run, part)))
  if (words.length > 1 && (PLACE_ENDS.has(last) || PLACE_STARTS.has(first))) return [['places', name]]
  if (words.length > 1 && OTHER_NAMES.has(first)) return entitiesIn({ ...run, words: words.slice(1), before: '' })
  if (isPerson(words, run)) return [['people', name]]
  const beside = /^, ((?:\p{Lu}[\p{L}.]{1,30} ?){1,3})/u.exec(tail)?.[1]?.trim().toLowerCase().replace(/\.$/, '') ?? ''
  return words.length <= 2 && isPlace(beside) ? [['places', name]] : []
}

/** The first word of a sentence has a capital whatever it is. */
function withoutOpening({ words, opens }: Run): readonly Word[] {
  let at = 0
  const silent = (): boolean => isSilent(words[at]?.lower ?? '') || JOINTS.has(words[at]?.lower ?? '')
  while (at < words.length && silent() && (opens || words.length - at > 1)) at++
  const [first, second] = [words[at]?.lower ?? '', words[at + 1]?.lower ?? '']
  if (opens && words.length - at > 2 && FIRST_NAMES.has(second) && !TITLES.has(first)) at++
  return words.slice(at)
}

/** "WHO" is an organization, "Who" isn't; "Shell" is one, "SHELL" isn't. */
const CAPITALS = new Set(
  'ibm amd sap bmw nasa esa nato un eu who imf wto ilo opec oecd unesco unicef unhcr fifa uefa ioc bbc cnn nbc cbs fbi cia nsa mit cern ikea bp'.split(
    ' ',
  ),
)

function isOrganization(words: readonly Word[], lower: string, first: string, last: string): boolean {
  if (words.length === 1)
    return ORGANIZATIONS.has(lower) && (words[0]?.text === lower.toUpperCase()) === CAPITALS.has(lower)
  if (ORGANIZATIONS.has(lower) || ORGANIZATION_ENDS.has(last)) return true
  return ORGANIZATION_HEADS.has(first) && words[1]?.lower === 'of'
}

/** "President Ada Lovelace", "President of France". */
function titled(run: Run): readonly Named[] {
  const { words, sentence } = run
  let at = 0
  while (at < words.length && TITLES.has(words[at]?.lower ?? '')) at++
  const [name, of] = splitAt(words.slice(at), 'of')
  const person: Named[] = name.length > 0 ? [['people', written(sentence, name)]] : []
  return of.length > 0 ? [...person, ...entitiesIn(alone(run, of))] : person
}

/** Without what stands around it. */
const alone = (run: Run, words: readonly Word[]): Run => ({ ...run, words, before: '', after: '', tail: '' })

/** As it stands in the sentence, without a possessive. */
function written(sentence: string, words: readonly Word[]): string {
  const [first, last] = [words[0], words.at(-1)]
  return first === undefined || last === undefined ? '' : sentence.slice(first.at, last.at + last.text.length)
}

function splitAt(words: readonly Word[], joint: string): [readonly Word[], readonly Word[]] {
  const at = words.findIndex(({ lower }) => lower === joint)
  return at === -1 ? [words, []] : [words.slice(0, at), words.slice(at + 1)]
}

const PLAIN = /^\p{Lu}[\p{Ll}'’-]+(?:[-'’]?\p{Lu}\p{Ll}+)?$|^\p{Lu}$/u

function isPerson(words: readonly Word[], { before, after, tail }: Run): boolean {
  if (words.length > 4 || !words.every(({ text, lower }) => PLAIN.test(text) || JOINTS.has(lower))) return false
  const firstName = FIRST_NAMES.has(words[0]?.lower ?? '') || (words.length > 1 && words[0]?.text.length === 1)
  if (words.length === 1) return firstName
  if (firstName || SPEECH.has(after) || ROLES.has(before) || before === 'by' || /^, \d{2},/.test(tail)) return true
  const role = /^, (?:the |a |an |its |their )?(?:[a-z-]{2,20} ){0,2}([a-z-]{3,20})\b/.exec(tail)?.[1] ?? ''
  return ROLES.has(role)
}

/** "OSLO" at the head of a report is Oslo. */
const casing = (name: string): string =>
  name.length > 3 && name === name.toUpperCase()
    ? name.toLowerCase().replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())
    : name
