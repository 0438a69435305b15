import { splitAtVariables } from '../../../core/expand-variables.ts'
import { type CompiledSchema, compileSchema } from '../../../core/schema/compiled-schema.ts'
import { valueInWords } from '../../../core/schema/problem-words.ts'
import type { Effect, ToolDefinition } from '../../../core/tool.ts'
import { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import {
  HTTP_IMPLEMENTATION_SCHEMA,
  type HttpAuth,
  type HttpImplementation,
  type HttpMethod,
} from '../definition/http-implementation.ts'
import { DomainList } from '../network/network-rules.ts'
import { JsonPath } from '../response/json-path.ts'
import { standInUrl } from './expand-implementation.ts'
import { unfitImplementation } from './request-errors.ts'
import { requestParts } from './request-parts.ts'
import { urlTemplate } from './url-template.ts'

const SCHEMA = { type: 'object', properties: { implementation: HTTP_IMPLEMENTATION_SCHEMA } } as const
/** Error messages never quote these values: they may be secrets. */
const NEVER_QUOTED = /^implementation\.(?:auth|headers|query|url)\b/

/** Describes what is wrong with an HTTP implementation; undefined if it is valid. */
export function problemOf(tool: ToolDefinition): string | undefined {
  const misshapen = shapeProblem(tool)
  if (misshapen !== undefined) return misshapen
  const implementation = standInImplementation(tool.implementation as HttpImplementation)
  try {
    checkMethod(implementation)
    requestParts(tool, implementation)
    checkTokenUrl(tool.implementation as HttpImplementation, implementation)
    checkJsonPaths(implementation)
    checkPagination(tool, implementation)
    checkDomains(implementation)
    return undefined
  } catch (error) {
    if (error instanceof ToolExecutionError) return error.message
    throw error
  }
}

/** The default effect of a method. */
export function effectOf(method: HttpMethod = 'GET'): Effect {
  if (method === 'GET' || method === 'HEAD') return 'read'
  return method === 'PUT' || method === 'DELETE' ? 'idempotent' : 'write'
}

/** Compiled once: an import may check thousands of tools. */
let shape: CompiledSchema | undefined

function shapeProblem({ implementation }: ToolDefinition): string | undefined {
  shape ??= compileSchema(SCHEMA)
  const value = { implementation }
  if (shape.check?.(value)) return undefined
  const [first] = shape.explain(value)
  if (first === undefined) return undefined
  const found = NEVER_QUOTED.test(first.path) ? undefined : valueAt(value, first.path)
  return found === undefined ? first.message : `${first.message}, not '${valueInWords(found)}'`
}

/** The value at a path such as `implementation.retry.max_attempts`. */
function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, step) => {
    return typeof at === 'object' && at !== null && Object.hasOwn(at, step)
      ? (at as Record<string, unknown>)[step]
      : undefined
  }, value)
}

function checkMethod({ method = 'GET', ...implementation }: HttpImplementation): void {
  const without = (keys: readonly string[], has: string, fix: string): void => {
    const key = keys.find((one) => implementation[one] !== undefined)
    if (key === undefined) return
    throw unfitImplementation(
      `implementation.${key} ${quotedText(implementation[key])}is for ${has}, and implementation.method is '${method}': ${fix}`,
    )
  }
  if (method === 'GET' || method === 'HEAD') {
    without(['body', 'body_param'], 'a request with a body', 'remove it, or use POST, PUT or PATCH')
  }
  if (method === 'HEAD') {
    without(['response_path', 'pick', 'max_items', 'pagination'], 'an answer with a body', 'remove it, or use GET')
  }
}

const quotedText = (value: unknown): string => (typeof value === 'string' ? `'${valueInWords(value)}' ` : '')

function checkTokenUrl({ auth: written }: HttpImplementation, { auth }: HttpImplementation): void {
  if (auth?.type !== 'oauth2' || written?.type !== 'oauth2') return
  const key = 'implementation.auth.token_url'
  const { templates, queryTemplates } = urlTemplate(auth.token_url, written.token_url, key)
  if (templates.length + queryTemplates.length > 0) {
    throw unfitImplementation(`${key} has a {parameter}, and no parameter goes there: write it out`)
  }
}

function checkJsonPaths({ response_path, pagination }: HttpImplementation): void {
  const { items_path, cursor_path, next_path } = (pagination ?? {}) as Readonly<Record<string, string | undefined>>
  const paths = {
    response_path,
    'pagination.items_path': items_path,
    'pagination.cursor_path': cursor_path,
    'pagination.next_path': next_path,
  }
  for (const [key, path] of Object.entries(paths)) {
    if (path !== undefined && !isJsonPath(path)) {
      throw unfitImplementation(
        `implementation.${key} '${valueInWords(path)}' is no JSONPath: write it such as $.data.items`,
      )
    }
  }
}

function isJsonPath(path: string): boolean {
  try {
    new JsonPath(path)
    return true
  } catch {
    return false
  }
}

function checkPagination({ effect, name }: ToolDefinition, { method, pagination }: HttpImplementation): void {
  if (pagination === undefined || (effect ?? effectOf(method)) === 'read') return
  throw unfitImplementation(
    `implementation.pagination is for tools that read, and '${name}' is not one: remove it, or give the tool "effect": "read" if it is`,
  )
}

function checkDomains({ allowed_domains = [] }: HttpImplementation): void {
  try {
    new DomainList(allowed_domains, 'implementation.allowed_domains')
  } catch (error) {
    throw unfitImplementation((error as Error).message)
  }
}

/** Replaces variables with placeholders, so that the form can be checked before they are known. */
function standInImplementation(written: HttpImplementation): HttpImplementation {
  const { url, headers, query, auth } = written
  return {
    ...written,
    url: standInUrl(url),
    ...(headers && { headers: standIns(headers) }),
    ...(query && { query: standIns(query) }),
    ...(auth && { auth: standInAuth(auth) }),
  }
}

function standInAuth(auth: HttpAuth): HttpAuth {
  const texts = standIns(auth as Readonly<Record<string, string>>)
  return (auth.type === 'oauth2' ? { ...texts, token_url: standInUrl(auth.token_url) } : texts) as HttpAuth
}

function standIns(texts: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, typeof text === 'string' ? standIn(text) : String(text)]),
  )
}

const standIn = (text: string): string =>
  splitAtVariables(text)
    .map((part, at) => (at % 2 === 0 ? part : 'v'))
    .join('')
