import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { Explained } from '../../core/schema/explanation.ts'
import { valueInWords } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { entryProblems, patternFault } from './matcher.ts'
import type { FileCase } from './suite.ts'

/** Limits on suite files, which protect memory. */
export const SUITE_LIMITS = { bytes: 16 * 1024 * 1024, cases: 10_000, repeat: 100, calls: 100 } as const

const text = { type: 'string', minLength: 1 } as const

const MESSAGE = {
  type: 'object',
  required: ['role', 'content'],
  properties: {
    role: { enum: ['system', 'user', 'assistant', 'tool'] },
    content: { type: ['string', 'null'] },
    tool_calls: { type: 'array', items: { type: 'object', required: ['id', 'type', 'function'] } },
    tool_call_id: { type: 'string' },
    name: { type: 'string' },
  },
} as const

const TOOL = {
  type: ['string', 'object'],
  minLength: 1,
  required: ['name', 'description', 'parameters'],
  properties: {
    name: text,
    description: text,
    parameters: {
      type: 'object',
      required: ['type'],
      properties: { type: { const: 'object' } },
    },
  },
} as const

const EXPECT = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    calls: {
      type: 'array',
      minItems: 1,
      maxItems: SUITE_LIMITS.calls,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['tool'],
        properties: {
          tool: text,
          params: { type: 'object', description: 'Values by name: plain JSON, or matchers such as {"$any": true}.' },
        },
      },
    },
    order: { enum: ['any', 'given'], default: 'any' },
    no_call: { const: true },
    forbidden: { type: 'array', minItems: 1, items: text },
    answer_matches: { ...text, description: 'A regular expression such as /sunny/i' },
  },
} as const

export const CASE_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['query', 'expect'],
  properties: {
    id: text,
    query: text,
    messages: { type: 'array', items: MESSAGE },
    tools: { type: 'array', items: TOOL },
    mocks: { type: 'object' },
    expect: EXPECT,
    repeat: { type: 'integer', minimum: 1, maximum: SUITE_LIMITS.repeat },
  },
}

export const FILE_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['cases'],
  properties: { $schema: { type: 'string' }, name: text, remark: text, cases: { type: 'array' } },
} as const

const STEP = /\["(?:[^"\\]|\\.)*"\]|\[\d+\]|[^.[\]]+/g

/** Lists what is wrong with a case, each problem with its path, the value and what to do. */
export function caseProblems(value: unknown): string[] {
  const problems = schemaProblems(value, CASE_SCHEMA, 'the case')
  return problems.length > 0 ? problems : ownProblems(value as FileCase)
}

/** Validates a value, and describes the problems in sentences. */
export function schemaProblems(value: unknown, schema: JsonSchema, root: string): string[] {
  const compiled = compileSchema(schema)
  return compiled.check?.(value) ? [] : compiled.explain(value).map((problem) => sentence(problem, value, schema, root))
}

function sentence({ path, rule, message }: Explained, value: unknown, schema: JsonSchema, root: string): string {
  const problem = message.replace(/^parameters /, `${root} `)
  if (rule === 'required') return `${problem}: add it.`
  if (rule === 'additionalProperties') {
    const key = path.match(STEP)?.at(-1) ?? path
    // A key that is known at another place is no misspelling.
    const [near] = suggest(key, keysIn(schema)).filter((one) => one !== key)
    return `unknown key '${path}': ${near === undefined ? 'remove it.' : `did you mean '${near}'?`}`
  }
  if (rule === 'minProperties') return `${problem}: state the expectation, such as {"calls": […]} or {"no_call": true}.`
  const found = valueAt(value, path)
  return found === undefined ? `${problem}.` : `${problem}, but is ${valueInWords(JSON.stringify(found))}.`
}

/** Checks that a JSON Schema can't express. */
function ownProblems({ expect, messages = [] }: FileCase): string[] {
  const { calls = [], order, no_call, forbidden = [], answer_matches } = expect
  const problems = calls.flatMap(({ params = {} }, at) => entryProblems(params, `expect.calls[${at}].params`))
  const fault = answer_matches === undefined ? undefined : patternFault(answer_matches)
  if (fault !== undefined) {
    problems.push(`expect.answer_matches "${valueInWords(answer_matches)}" ${fault}: write it as "/sunny/i".`)
  }
  if (no_call && calls.length > 0) problems.push('expect has both calls and no_call: remove one of them.')
  if (no_call && forbidden.length > 0) problems.push('expect.no_call forbids every tool: remove expect.forbidden.')
  const both = calls.find(({ tool }) => forbidden.includes(tool))
  if (both) problems.push(`expect.forbidden names "${both.tool}", which expect.calls expects: remove it there.`)
  if (order !== undefined && calls.length === 0) problems.push('expect.order needs expect.calls: remove it.')
  for (const [at, { role, content }] of messages.entries()) {
    if (content === null && role !== 'assistant') problems.push(`messages[${at}].content is null: write the message.`)
  }
  return problems
}

function keysIn(schema: unknown): string[] {
  if (!isObject(schema)) return []
  const own = isObject(schema.properties) ? Object.entries(schema.properties) : []
  return [...own.flatMap(([name, inner]) => [name, ...keysIn(inner)]), ...keysIn(schema.items)]
}

function valueAt(value: unknown, path: string): unknown {
  if (path === 'parameters') return value
  const steps = path.match(STEP) ?? []
  return steps.reduce<unknown>((at, step) => {
    const key = step.startsWith('[') ? String(JSON.parse(step.slice(1, -1))) : step
    return typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
  }, value)
}
