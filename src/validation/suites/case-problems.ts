import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { Explained } from '../../core/schema/explanation.ts'
import { valueInWords } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { entryProblems, patternFault } from './matcher-problems.ts'
import type { FileCase } from './suite-file.ts'
import { CASE_SCHEMA } from './suite-schema.ts'

const STEP = /\["(?:[^"\\]|\\.)*"\]|\[\d+\]|[^.[\]]+/g

/** What is wrong with the form of a case: each problem with its path, the value and what to do; none where it is right. */
export function caseProblems(value: unknown): string[] {
  const problems = schemaProblems(value, CASE_SCHEMA, 'the case')
  return problems.length > 0 ? problems : ownProblems(value as FileCase)
}

/** The problems that a schema finds, as sentences. */
export function schemaProblems(value: unknown, schema: JsonSchema, root: string): string[] {
  const compiled = compileSchema(schema)
  return compiled.check?.(value) ? [] : compiled.explain(value).map((problem) => sentence(problem, value, schema, root))
}

function sentence({ path, rule, message }: Explained, value: unknown, schema: JsonSchema, root: string): string {
  const said = message.replace(/^parameters /, `${root} `)
  if (rule === 'required') return `${said}: add it.`
  if (rule === 'additionalProperties') {
    const [near] = suggest(path.match(STEP)?.at(-1) ?? path, keysIn(schema))
    return `unknown key '${path}': ${near === undefined ? 'remove it.' : `did you mean '${near}'?`}`
  }
  if (rule === 'minProperties') return `${said}: say what is right, such as {"calls": […]} or {"no_call": true}.`
  const found = valueAt(value, path)
  return found === undefined ? `${said}.` : `${said}, but is ${valueInWords(JSON.stringify(found))}.`
}

/** What a schema cannot say. */
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
  if (order !== undefined && calls.length === 0) problems.push('expect.order is for calls: remove it.')
  for (const [at, { role, content }] of messages.entries()) {
    if (content === null && role !== 'assistant') problems.push(`messages[${at}].content is null: write what was said.`)
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
