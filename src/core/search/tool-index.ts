import { isObject } from '../schema/schema-keywords.ts'
import { distance } from '../suggest.ts'
import type { JsonSchema } from '../tool.ts'

export interface IndexedTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

/** Vectors of texts that are near each other if the texts mean the same. */
export interface TextVectors {
  readonly size: number
  /** A unit vector; undefined if no word of the text is known. */
  of(text: string): Float32Array | undefined
}

/** Of each field: its weight, and the number of words that is usual. Longer fields count less per word. */
const FIELDS = {
  name: { weight: 2.5, usual: 3 },
  description: { weight: 1, usual: 16 },
  parameters: { weight: 0.5, usual: 6 },
  details: { weight: 0.25, usual: 30 },
} as const
const LENGTH_SHARE = 0.5
const SATURATION = 1.2
const MAX_DESCRIPTION = 600
const MAX_PARAMETERS = 40
const MAX_DETAIL = 80
const MAX_DETAILS = 800
/** The start of a long message says what it asks for. */
const MAX_QUERY = 600
const MAX_QUERY_WORDS = 48
/** How much a word counts that the query has in another form. */
const FACTORS = { akin: 0.6, prefix: 0.6, misspelled: 0.7, weak: 0.35 } as const
const MIN_PREFIX = 3
const MIN_MISSPELLED = 4
const LONG_WORD = 8
const MAX_FORMS = 8
/** How many indexed words one search compares with its unknown words: a server may list millions. */
const MAX_COMPARED = 200_000
const MAX_MEASURED = 5_000
/** How long tools are indexed before the event loop gets a turn. */
const SLICE_MS = 8
/** What vectors, and earlier calls, count beside words. A tool with all words of the query has about 1. */
const VECTOR_WEIGHT = 1.25
/** A tool with less of the best score has hardly anything to do with the query. */
const LEAST_SHARE = 0.25
/** If the best tool has less, the query means none of them. By words alone, such tools have no word of it. */
const LEAST_BEST = 0.3
const USE_WEIGHT = 0.03
const VECTOR_DESCRIPTION = 200
const VECTOR_PARAMETERS = 8

/** The work that a search may still do. */
interface Left {
  compared: number
  measured: number
}

interface Posting {
  readonly slots: number[]
  readonly weights: number[]
}

/** Searches tools by the words of their names, descriptions and parameters, and by meaning if there are vectors. */
export class ToolIndex {
  readonly #vectors: TextVectors | undefined
  readonly #postings = new Map<string, Posting>()
  /** The words by their first letter, to find those that are like a misspelled one. */
  readonly #byLetter = new Map<string, Set<string>>()
  readonly #slots = new Map<string, number>()
  readonly #names: (string | undefined)[] = []
  readonly #words: (readonly string[])[] = []
  readonly #free: number[] = []
  #matrix = new Float32Array()

  constructor(vectors?: TextVectors) {
    this.#vectors = vectors
  }

  get size(): number {
    return this.#slots.size
  }

  /** Adds or replaces tools, or removes those without a definition. The event loop gets a turn now and then. */
  async update(changes: Iterable<readonly [name: string, tool: IndexedTool | undefined]>): Promise<void> {
    let began = performance.now()
    for (const [name, tool] of changes) {
      if (tool === undefined) this.delete(name)
      else this.set(tool)
      if (performance.now() - began < SLICE_MS) continue
      await new Promise((resolve) => setImmediate(resolve))
      began = performance.now()
    }
  }

  /** Adds a tool, or replaces the one of its name. */
  set(tool: IndexedTool): void {
    const weights = weighed(tool)
    this.delete(tool.name)
    const slot = this.#free.pop() ?? this.#names.length
    this.#slots.set(tool.name, slot)
    this.#names[slot] = tool.name
    this.#words[slot] = [...weights.keys()]
    for (const [word, weight] of weights) {
      const posting = this.#postings.get(word) ?? this.#learn(word)
      posting.slots.push(slot)
      posting.weights.push(weight)
    }
    this.#place(slot, tool)
  }

  delete(name: string): void {
    const slot = this.#slots.get(name)
    if (slot === undefined) return
    for (const word of this.#words[slot] as readonly string[]) {
      const posting = this.#postings.get(word) as Posting
      const at = posting.slots.indexOf(slot)
      posting.slots.splice(at, 1)
      posting.weights.splice(at, 1)
      if (posting.slots.length > 0) continue
      this.#postings.delete(word)
      this.#byLetter.get(word.charAt(0))?.delete(word)
    }
    this.#slots.delete(name)
    this.#names[slot] = undefined
    this.#free.push(slot)
  }

  /** The names of the best tools, the best first. `uses` says how often each was called. */
  search(
    query: string,
    most: number,
    accepts: (name: string) => boolean,
    uses?: ReadonlyMap<string, number>,
  ): string[] {
    const text = query.slice(0, MAX_QUERY)
    const scores = this.#scoresByWords(text)
    this.#addVectors(text, scores)
    let best = 0
    for (const score of scores) best = Math.max(best, score)
    const isMeant = this.#vectors === undefined ? best > 0 : best >= LEAST_BEST
    const least = isMeant ? LEAST_SHARE * best : Number.POSITIVE_INFINITY
    let mostUsed = 0
    for (const count of uses?.values() ?? []) mostUsed = Math.max(mostUsed, Math.log1p(count))
    const found: Found[] = []
    for (let slot = 0; slot < scores.length; slot++) {
      const name = this.#names[slot]
      const words = scores[slot] as number
      if (name === undefined || words < least) continue
      const used = mostUsed === 0 ? 0 : Math.log1p(uses?.get(name) ?? 0) / mostUsed
      const score = words + USE_WEIGHT * used
      const last = found.length === most ? found.at(-1) : undefined
      if (last !== undefined && !isBetter(name, score, last)) continue
      if (accepts(name)) insert(found, { name, score }, most)
    }
    return found.map(({ name }) => name)
  }

  /** The share of the query's words that each tool has. Rare words count more, most those that no tool has. */
  #scoresByWords(text: string): Float64Array {
    let total = 0
    const scores = new Float64Array(this.#names.length)
    const best = new Float64Array(this.#names.length)
    const left: Left = { compared: MAX_COMPARED, measured: MAX_MEASURED }
    for (const word of new Set(wordsIn(text).slice(0, MAX_QUERY_WORDS))) {
      const weight = isWeak(word) ? FACTORS.weak : 1
      const touched: number[] = []
      total += weight * this.#rarity(this.#postings.get(word)?.slots.length ?? 0)
      for (const [form, factor] of this.#formsOf(word, left)) {
        const { slots, weights } = this.#postings.get(form) as Posting
        const rarity = weight * factor * this.#rarity(slots.length)
        for (let at = 0; at < slots.length; at++) {
          const slot = slots[at] as number
          const found = weights[at] as number
          const score = (rarity * found) / (SATURATION + found)
          // Several forms of a word count once.
          if (score <= (best[slot] as number)) continue
          if (best[slot] === 0) touched.push(slot)
          best[slot] = score
        }
      }
      for (const slot of touched) {
        scores[slot] = (scores[slot] as number) + (best[slot] as number)
        best[slot] = 0
      }
    }
    return total === 0 ? scores : scores.map((score) => score / total)
  }

  #rarity(count: number): number {
    return Math.log(1 + (this.size - count + 0.5) / (count + 0.5))
  }

  /** The indexed words that a word of the query may mean, with their factors. */
  #formsOf(word: string, left: Left): [form: string, factor: number][] {
    const forms: [string, number][] = akinTo(word)
      .filter((other) => this.#postings.has(other))
      .map((other) => [other, FACTORS.akin])
    if (this.#postings.has(word)) return [[word, 1], ...forms]
    return forms.length > 0 ? forms : this.#likeOf(word, left)
  }

  /** Words that begin with an unknown one, or are spelled like it. */
  #likeOf(word: string, left: Left): [string, number][] {
    if (word.length < MIN_PREFIX) return []
    const apart = word.length < MIN_MISSPELLED ? 0 : word.length < LONG_WORD ? 1 : 2
    const like: [string, number][] = []
    for (const other of this.#byLetter.get(word.charAt(0)) ?? []) {
      if (left.compared-- <= 0) break
      if (other.startsWith(word)) like.push([other, FACTORS.prefix])
      else if (Math.abs(other.length - word.length) <= apart && left.measured-- > 0 && distance(word, other) <= apart)
        like.push([other, FACTORS.misspelled])
    }
    return like.sort((a, b) => b[1] - a[1]).slice(0, MAX_FORMS)
  }

  #learn(word: string): Posting {
    const posting: Posting = { slots: [], weights: [] }
    this.#postings.set(word, posting)
    const letter = word.charAt(0)
    const words = this.#byLetter.get(letter) ?? new Set()
    this.#byLetter.set(letter, words.add(word))
    return posting
  }

  #place(slot: number, { name, description, parameters }: IndexedTool): void {
    if (this.#vectors === undefined) return
    const { size } = this.#vectors
    if (this.#matrix.length < (slot + 1) * size) {
      const grown = new Float32Array(Math.max(256, 2 * slot) * size)
      grown.set(this.#matrix)
      this.#matrix = grown
    }
    const names = Object.keys(propertiesOf(parameters)).slice(0, VECTOR_PARAMETERS)
    const text = [spaced(name), description.slice(0, VECTOR_DESCRIPTION), ...names.map(spaced)].join(' ')
    const vector = this.#vectors.of(text)
    this.#matrix.fill(0, slot * size, (slot + 1) * size)
    if (vector !== undefined) this.#matrix.set(vector, slot * size)
  }

  #addVectors(text: string, scores: Float64Array): void {
    const vector = this.#vectors?.of(text)
    if (vector === undefined) return
    const size = vector.length
    for (let slot = 0; slot < scores.length; slot++) {
      let near = 0
      for (let at = 0, from = slot * size; at < size; at++)
        near += (vector[at] as number) * (this.#matrix[from + at] as number)
      scores[slot] = (scores[slot] as number) + VECTOR_WEIGHT * near
    }
  }
}

interface Found {
  readonly name: string
  readonly score: number
}

const isBetter = (name: string, score: number, than: Found): boolean =>
  score > than.score || (score === than.score && name < than.name)

/** Into a list with the best first, of `most` entries. */
function insert(list: Found[], { name, score }: Found, most: number): void {
  let at = list.length
  while (at > 0 && isBetter(name, score, list[at - 1] as Found)) at--
  list.splice(at, 0, { name, score })
  if (list.length > most) list.pop()
}

/** The words of a tool, with the sum of their weights in all fields. */
function weighed({ name, description, parameters }: IndexedTool): Map<string, number> {
  const properties = Object.entries(propertiesOf(parameters)).slice(0, MAX_PARAMETERS)
  const details = properties.map(([, one]) => detailOf(one).slice(0, MAX_DETAIL))
  const texts: Readonly<Record<keyof typeof FIELDS, string>> = {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    parameters: properties
      .map(([key]) => key.slice(0, MAX_DETAIL))
      .join(' ')
      .slice(0, MAX_DETAILS),
    details: details.join(' ').slice(0, MAX_DETAILS),
  }
  const weights = new Map<string, number>()
  for (const [field, { weight, usual }] of Object.entries(FIELDS)) {
    const words = wordsIn(texts[field as keyof typeof FIELDS])
    const each = weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * words.length) / usual)
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + each)
  }
  return weights
}

/** Definitions of MCP servers may have anything here. */
const detailOf = (parameter: unknown): string =>
  isObject(parameter) && typeof parameter.description === 'string' ? parameter.description : ''

const propertiesOf = ({ properties }: JsonSchema): Record<string, unknown> => (isObject(properties) ? properties : {})

/** `createHTMLPage2` → `create HTML Page2`. */
const spaced = (text: string): string =>
  text.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').replaceAll(/[_\-./]+/g, ' ')

/** The words of a text in lower case, without endings and without words that every sentence has. */
function wordsIn(text: string): string[] {
  const words: string[] = []
  for (const [word] of spaced(text)
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    if (!FILLERS.has(word)) words.push(stem(word.slice(0, MAX_WORD)))
  }
  return words
}

const MAX_WORD = 40
const FILLERS = new Set(
  (
    'a an the of in on at to for and or is are be been was were am with by from as it its this that these those there my me i we us ' +
    'our you your he she his her they them their can could would should will shall may might must please what which who whom how ' +
    'when where why do does did done has have had not no so if then than too very just also any some all into out up about s t m re ve ll'
  ).split(' '),
)

const VOWEL = /[aeiouy]/

/** Removes common English endings, from words that stay long enough. */
function stem(word: string): string {
  let root = word
  if (root.length > 4 && root.endsWith('ies')) root = `${root.slice(0, -3)}y`
  else if (root.length > 4 && /(?:s|x|z|ch|sh)es$/.test(root)) root = root.slice(0, -2)
  else if (root.length > 3 && /[^su]s$/.test(root)) root = root.slice(0, -1)
  const ending = /(?:ing|ed)$/.exec(root)?.[0]
  if (ending !== undefined) {
    const rest = root.slice(0, -ending.length)
    if (rest.length > 2 && VOWEL.test(rest)) root = /([^aeiouls])\1$/.test(rest) ? rest.slice(0, -1) : rest
  } else if (root.length > 7 && /[st]ion$/.test(root)) root = root.slice(0, -3)
  else if (root.length > 5 && root.endsWith('ly')) root = root.slice(0, -2)
  return root.length > 3 && root.endsWith('e') ? root.slice(0, -1) : root
}

/** Words by which people ask for anything. */
const WEAK = stems(
  'show tell give find make want need let put know look check see like get help use go take new now right',
)
const isWeak = (word: string): boolean => WEAK.has(word)

/** Words of which tools have one and people say another. */
const AKIN: ReadonlyMap<string, readonly string[]> = groups(
  'delete remove erase drop destroy discard clear wipe forget trash',
  'create add make new insert generate register open',
  'update edit change modify set patch rename alter',
  'get fetch retrieve read show view display look load lookup',
  'list show all enumerate which',
  'search find lookup query look seek locate discover',
  'send post deliver notify write publish',
  'message text sms chat',
  'message mail email',
  'call phone ring dial',
  'start begin launch run trigger execute play',
  'stop end cancel halt abort terminate shut',
  'picture image photo screenshot illustration',
  'draw paint plot chart graph diagram visualize generate',
  'folder directory',
  'repository repo project',
  'bug issue ticket problem',
  'merge combine join',
  'comment note remark reply',
  'person user member people account customer',
  'money price cost amount fee',
  'book reserve booking reservation schedule',
  'buy purchase order',
  'car vehicle auto',
  'movie film cinema theater',
  'song music track play',
  'weather forecast temperature',
  'distance far',
  'location place address where',
  'log output print trace',
  'copy clone fork duplicate',
  'move rename transfer',
  'save store export write',
  'web internet online website site page url',
  'browser page tab window',
  'login authenticate sign signin',
  'permission access role right',
  'job task build pipeline',
  'time date clock hour',
  'calculate compute work sum',
  'translate language',
  'meeting event appointment calendar',
  'invoice bill payment pay charge',
  'doctor physician',
  'holiday vacation',
  'company business firm corporation',
  'description summary detail information info',
)

function stems(text: string): ReadonlySet<string> {
  return new Set(text.split(' ').map(stem))
}

function groups(...lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const akin = new Map<string, string[]>()
  for (const line of lines) {
    const words = [...stems(line)]
    for (const word of words) akin.set(word, [...(akin.get(word) ?? []), ...words.filter((other) => other !== word)])
  }
  return akin
}

const NONE: readonly string[] = Object.freeze([])
const akinTo = (word: string): readonly string[] => AKIN.get(word) ?? NONE
