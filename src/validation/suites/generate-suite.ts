import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { type SampledParams, sampleParams } from './sample-params.ts'
import { wordsOf } from './sample-text.ts'
import type { FileCase, SuiteFile } from './suite.ts'
import { SUITE_LIMITS } from './suite-schema.ts'

/** The similar tools offered beside the right one in a distractor case. */
const MAX_DISTRACTORS = 4
const CASES_PER_TOOL = 4
const MAX_TOOLS = SUITE_LIMITS.cases / CASES_PER_TOOL
const MAX_PURPOSE_CHARACTERS = 200
const MAX_DESCRIPTION_CHARACTERS = 500
/** A word in more tools than this doesn't make them similar. */
const MAX_SHARING_TOOLS = 100

/** Requests that need no tool. */
const IRRELEVANT = [
  'Thank you, that was all for today.',
  'Good morning! How are you?',
  'Please tell me in one sentence why people like music.',
  'What does it mean to be patient? A few words are enough.',
]

/**
 * Generates cases from tool definitions, deterministically. Each tool gets up to four: a simple one, one among similar
 * tools, one with a missing value, and one that needs no tool.
 */
export function generateSuite(definitions: readonly ToolDefinition[]): SuiteFile {
  const usable = definitions.filter(({ parameters }) => isUsable(parameters)).slice(0, MAX_TOOLS)
  const similar = new SimilarTools(usable)
  const without: string[] = []
  const cases = usable.flatMap((tool) => {
    const sampled = sampleParams(tool.parameters)
    if (sampled === undefined) without.push(tool.name)
    const irrelevance: FileCase = {
      id: `${tool.name}/irrelevance`,
      query: irrelevantQuery(tool),
      tools: [tool.name],
      expect: { no_call: true },
    }
    return sampled === undefined ? [irrelevance] : [...callCases(tool, sampled, similar, usable), irrelevance]
  })
  const remark = remarkOn(definitions, usable, without)
  return { name: 'generated', ...(remark !== undefined && { remark }), cases }
}

function callCases(
  tool: ToolDefinition,
  { params, needed }: SampledParams,
  similar: SimilarTools,
  all: readonly ToolDefinition[],
): FileCase[] {
  const { name } = tool
  const purpose = purposeOf(tool)
  const expect = { calls: [{ tool: name, params: literally(params) }] }
  const named = `Use ${name}: ${purpose}`
  const cases: FileCase[] = [{ id: `${name}/simple`, query: `${named}${valuesInWords(params)}`, tools: [name], expect }]
  const like = similar.like(name, MAX_DISTRACTORS)
  if (like.length > 0) {
    const offered = all.filter((one) => one === tool || like.includes(one.name))
    const request = offered.some((one) => one !== tool && purposeOf(one) === purpose) ? named : purpose
    const tools = offered.map((one) => one.name)
    cases.push({ id: `${name}/distractor`, query: `${request}${valuesInWords(params)}`, tools, expect })
  }
  if (needed !== undefined) {
    const { [needed]: _left, ...others } = params
    const query = `${named}${valuesInWords(others)}`
    cases.push({ id: `${name}/missing_parameter`, query, tools: [name], expect: { forbidden: [name] } })
  }
  return cases
}

/** Wraps values that contain `$` keys in `$equals`, so that the keys aren't read as matchers. */
function literally(params: Params): Params {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, hasMatcher(value) ? { $equals: value } : value]),
  )
}

const hasMatcher = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(hasMatcher)
    : isObject(value) && Object.entries(value).some(([key, inner]) => key.startsWith('$') || hasMatcher(inner))

function isUsable(schema: ToolDefinition['parameters']): boolean {
  try {
    compileSchema(schema)
    return true
  } catch {
    return false
  }
}

function remarkOn(
  definitions: readonly ToolDefinition[],
  usable: readonly ToolDefinition[],
  without: readonly string[],
): string | undefined {
  const sentences: string[] = []
  const left = definitions.length - usable.length
  if (left > 0)
    sentences.push(
      `${left} of ${definitions.length} tools have no cases: their schema is invalid, or there are more than ${MAX_TOOLS} tools.`,
    )
  if (without.length > 0)
    sentences.push(`No valid parameters were found for ${without.join(', ')}: write cases for them by hand.`)
  return sentences.length === 0 ? undefined : sentences.join(' ')
}

/** The first sentence of a tool's description, without markup; the words of its name if there is no description. */
function purposeOf({ name, description }: ToolDefinition): string {
  const plain = description
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/[#*`\s]+/g, ' ')
    .trim()
  const [sentence = ''] = /^.*?[.!?](?=\s|$)/.exec(plain) ?? [plain]
  const words = sentence === '' ? wordsOf(name).join(' ') : sentence
  const short =
    words.length > MAX_PURPOSE_CHARACTERS ? `${words.slice(0, MAX_PURPOSE_CHARACTERS - 1).trimEnd()}…` : words
  return /[.!?…]$/.test(short) ? short : `${short}.`
}

/** Parameters as a sentence: ` Set city to "Paris" and days to 3.`; empty if there are none. */
function valuesInWords(params: Params): string {
  const parts = Object.entries(params).map(([name, value]) => `${name} to ${JSON.stringify(value)}`)
  const last = parts.pop()
  if (last === undefined) return ''
  return ` Set ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`}.`
}

/** The irrelevant request that shares the fewest words with a tool. */
function irrelevantQuery({ name, description }: ToolDefinition): string {
  const known = new Set([...wordsOf(name), ...wordsOf(description)].filter((word) => word.length > 3))
  const shared = IRRELEVANT.map((query) => wordsOf(query).filter((word) => known.has(word)).length)
  const fewest = IRRELEVANT.filter((_query, at) => shared[at] === Math.min(...shared))
  return fewest[name.length % fewest.length] as string
}

/** Finds the tools that share the most and the rarest words with a tool. */
class SimilarTools {
  readonly #names: readonly string[]
  readonly #words: readonly ReadonlySet<string>[]
  readonly #places = new Map<string, number[]>()
  readonly #numbers: ReadonlyMap<string, number>

  constructor(tools: readonly ToolDefinition[]) {
    this.#names = tools.map(({ name }) => name)
    this.#numbers = new Map(this.#names.map((name, number) => [name, number]))
    this.#words = tools.map(
      (tool) => new Set([...wordsOf(tool.name), ...wordsOf(tool.description.slice(0, MAX_DESCRIPTION_CHARACTERS))]),
    )
    for (const [number, words] of this.#words.entries()) {
      for (const word of words) {
        const places = this.#places.get(word)
        if (places === undefined) this.#places.set(word, [number])
        else places.push(number)
      }
    }
  }

  /** Up to `most` names of similar tools, in registry order; tools without shared words are taken by position. */
  like(name: string, most: number): string[] {
    const own = this.#numbers.get(name) as number
    const scores = new Map<number, number>()
    for (const word of this.#words[own] ?? []) {
      const places = this.#places.get(word) ?? []
      if (places.length > MAX_SHARING_TOOLS) continue
      for (const number of places) scores.set(number, (scores.get(number) ?? 0) + 1 / places.length)
    }
    for (let away = 1; away <= most; away++) {
      for (const number of [own + away, own - away]) {
        if (number >= 0 && number < this.#names.length) scores.set(number, scores.get(number) ?? 0)
      }
    }
    scores.delete(own)
    return [...scores]
      .sort(([one, high], [other, low]) => low - high || one - other)
      .slice(0, most)
      .map(([number]) => number)
      .sort((one, other) => one - other)
      .map((number) => this.#names[number] as string)
  }
}
