import type { ToolDefinition } from '../../src/core/tool.ts'
import type { HttpImplementation } from '../../src/kinds/http/definition/http-implementation.ts'
import type { StatedParameter } from './stated-request.ts'

/** Which parameter of a tool is which of its operation. */
export interface MatchedParameters {
  /** Those outside the body, by their names in the tool. */
  readonly outside: ReadonlyMap<string, StatedParameter>
  /** The parameters of the path in its order, by their names in the tool. */
  readonly inPath: readonly string[]
  /** The keys of the body, or the whole of it, by their names in the tool: the API's names. */
  readonly inBody: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

const FIT = /^[A-Za-z0-9_.-]{1,64}$/
const NEVER = new Set(['__proto__', 'constructor', 'prototype'])
const TEMPLATE = /\{([^{}]*)\}/g

/**
 * Finds the parameters of an operation in its tool. A name that the operation has once, and that a model accepts, must be
 * the same in both; the definition is asked only for others. `bodyNames` are the keys that the body may have, `notes`
 * what the import said of the operation: whatever is not in the tool must be in there.
 */
export function matchedParameters(
  tool: ToolDefinition,
  path: string,
  declared: readonly StatedParameter[],
  bodyNames: ReadonlySet<string>,
  notes: readonly string[],
): MatchedParameters {
  const implementation = tool.implementation as HttpImplementation
  const mapping = implementation.params_mapping ?? {}
  const names = new Set(Object.keys((tool.parameters.properties ?? {}) as object))
  const outside = new Map<string, StatedParameter>()
  const problems: string[] = []

  const inUrl = [...(implementation.url.split('?', 1)[0] ?? '').matchAll(TEMPLATE)].map(([, name = '']) => name)
  const templates = templatesOf(path, declared)
  if (inUrl.length !== templates.length)
    problems.push(`the URL has parameters {${inUrl.join('}, {')}}, the path is ${path}`)
  const inPath = templates.map((stated, index) => {
    const template = inUrl[index] ?? ''
    const name = Object.keys(mapping).find((key) => mapping[key] === template) ?? template
    if (!names.has(name)) problems.push(`the path parameter ${stated.name} is not in the tool`)
    else outside.set(name, stated)
    return name
  })

  const others = declared.filter(({ in: place }) => place !== 'path')
  const timesUsed = (name: string): number =>
    [...new Set(templates), ...others].filter((one) => one.name === name).length + (bodyNames.has(name) ? 1 : 0)
  const placeOf = (name: string): unknown => {
    const given = implementation.params_in?.[name]
    if (given !== undefined) return typeof given === 'string' ? given : given.in
    return /^P/.test(implementation.method ?? 'GET') && implementation.body_param === undefined ? 'body' : 'query'
  }
  for (const stated of others) {
    const isPlain = FIT.test(stated.name) && !NEVER.has(stated.name) && timesUsed(stated.name) === 1
    const found = isPlain
      ? stated.name
      : [...names].find(
          (name) => (mapping[name] ?? name) === stated.name && placeOf(name) === stated.in && !outside.has(name),
        )
    if (found !== undefined && names.has(found)) outside.set(found, stated)
    else if (!notes.some((note) => note.includes(JSON.stringify(stated.name)))) {
      problems.push(`the ${stated.in} parameter ${stated.name} is neither in the tool nor in the notes`)
    }
  }
  const rest = [...names].filter((name) => !outside.has(name))
  const inBody = new Map(rest.map((name) => [name, mapping[name] ?? name]))
  return { outside, inPath, inBody, problems }
}

/** The parameters of a path in their order; what the document does not describe is text. */
function templatesOf(path: string, declared: readonly StatedParameter[]): StatedParameter[] {
  return [...pathOf(path).matchAll(TEMPLATE)].map(([, written = '']) => {
    const plain = written.replace(/^[+#./;?&]|\*$/g, '')
    const known = [written, plain].flatMap((name) => declared.filter((one) => one.in === 'path' && one.name === name))
    return known[0] ?? { name: written, in: 'path', required: true, style: 'simple', explode: false }
  })
}

/** A path of a document without what only tells operations apart, or belongs to the query. */
export const pathOf = (path: string): string => path.split(/[#?]/, 1)[0] ?? ''
