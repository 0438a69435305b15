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
  const similar = similarTools(usable)
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
  similar: (tool: ToolDefinition) => string[],
  all: readonly ToolDefinition[],
): FileCase[] {
  const { name } = tool
  const purpose = purposeOf(tool)
  const expect = { calls: [{ tool: name, params: literally(params) }] }
  const named = `Use ${name}: ${purpose}`
  const cases: FileCase[] = [{ id: `${name}/simple`, query: `${named}${valuesInWords(params)}`, tools: [name], expect }]
  const like = similar(tool)
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

/**
 * Returns a function that finds up to `MAX_DISTRACTORS` tools that share the most and the rarest words with a tool, in
 * registry order. Neighbours fill up the list.
 */
function similarTools(tools: readonly ToolDefinition[]): (tool: ToolDefinition) => string[] {
  const words = tools.map(
    ({ name, description }) =>
      new Set([...wordsOf(name), ...wordsOf(description.slice(0, MAX_DESCRIPTION_CHARACTERS))]),
  )
  const entries = words.flatMap((own, number) => [...own].map((word) => ({ word, number })))
  const places = Map.groupBy(entries, ({ word }) => word)
  const numbers = new Map(tools.map((tool, number) => [tool, number]))
  return (tool) => {
    const own = numbers.get(tool) as number
    const scores = new Map<number, number>()
    for (const word of words[own] ?? []) {
      const sharing = places.get(word) ?? []
      if (sharing.length > MAX_SHARING_TOOLS) continue
      for (const { number } of sharing) scores.set(number, (scores.get(number) ?? 0) + 1 / sharing.length)
    }
    for (let away = 1; away <= MAX_DISTRACTORS; away++) {
      for (const number of [own + away, own - away]) if (number in tools) scores.set(number, scores.get(number) ?? 0)
    }
    scores.delete(own)
    const best = [...scores].sort(([one, high], [other, low]) => low - high || one - other).slice(0, MAX_DISTRACTORS)
    const chosen = best.map(([number]) => number).sort((one, other) => one - other)
    return chosen.map((number) => tools[number]?.name as string)
  }
}
