import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { irrelevantQuery, purposeOf, valuesInWords } from './generation/query-words.ts'
import { type SampledParams, sampleParams } from './generation/sample-params.ts'
import { SimilarTools } from './generation/similar-tools.ts'
import type { FileCase, SuiteFile } from './suite-file.ts'
import { SUITE_LIMITS } from './suite-schema.ts'

/** The tools that stand beside the right one in a distractor case. */
const MOST_DISTRACTORS = 4
const CASES_PER_TOOL = 4
const MOST_TOOLS = SUITE_LIMITS.cases / CASES_PER_TOOL

/**
 * Makes cases for tools out of their definitions, the same ones each time: for each tool a simple one, one among
 * similar tools, one in which a value is missing, and one that needs no tool.
 */
export function generateSuite(definitions: readonly ToolDefinition[]): SuiteFile {
  const usable = definitions.filter(({ parameters }) => isUsable(parameters)).slice(0, MOST_TOOLS)
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
  const others = similar.like(name, MOST_DISTRACTORS)
  if (others.length > 0) {
    const offered = all.filter((one) => one === tool || others.includes(one.name))
    const told = offered.some((one) => one !== tool && purposeOf(one) === purpose) ? named : purpose
    const tools = offered.map((one) => one.name)
    cases.push({ id: `${name}/distractor`, query: `${told}${valuesInWords(params)}`, tools, expect })
  }
  if (needed !== undefined) {
    const { [needed]: _unsaid, ...said } = params
    const query = `${named}${valuesInWords(said)}`
    cases.push({ id: `${name}/missing_parameter`, query, tools: [name], expect: { forbidden: [name] } })
  }
  return cases
}

/** Values as they stand, though there be a `$` before a key of theirs. */
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
      `${left} of ${definitions.length} tools have no cases: their schema is broken, or there are too many.`,
    )
  if (without.length > 0) sentences.push(`No values were found for ${without.join(', ')}: add cases for them by hand.`)
  return sentences.length === 0 ? undefined : sentences.join(' ')
}
