import { type Environment, splitAtVariables, variableIn } from '../../../core/environment.ts'
import { type CompiledSchema, compileSchema } from '../../../core/schema/compiled-schema.ts'
import { valueInWords } from '../../../core/schema/problem-words.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { Effect, JsonSchema, ToolDefinition } from '../../../core/tool.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import { JsonPath } from '../../path/json-path.ts'
import {
  HTTP_IMPLEMENTATION_SCHEMA,
  type HttpImplementation,
  type HttpMethod,
} from '../definition/http-implementation.ts'
import { literalSecrets, SECRET_AUTH, SecretValues } from '../definition/secret-values.ts'
import { DomainList, type NetworkRules } from '../network/network-rules.ts'
import { expandUrl, standInImplementation } from './expand-implementation.ts'
import { namedParameters } from './placed-parameters.ts'
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
        `implementation.${key} '${valueInWords(path)}' is not a JSONPath: write it like $.data.items`,
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

/**
 * Warns about a valid definition: literal secrets, and secrets that are too short to be removed from
 * responses. Never quotes a secret.
 */
export function warningOf({ implementation, parameters }: ToolDefinition, env: Environment = {}): string | undefined {
  const http = implementation as HttpImplementation
  const places = new Set(literalSecrets(http).map(({ place }) => place))
  const warnings = [
    ...[...places].map(
      (place) => `${place} contains a literal secret: put it into an environment variable, and write \${NAME} there`,
    ),
    ...unreadVariables(http).map(
      (place) => `${place} has a \${…} that is not a variable and is sent unchanged: use letters, digits and _ only`,
    ),
    ...unsentObjects(http, parameters).map(
      (name) =>
        `implementation.params_in.${name} sends each key that the schema declares separately, but the schema declares none, so nothing is sent`,
    ),
    ...shortVariables(http, env).map(
      (name) =>
        `The value of the environment variable ${name} is too short to be recognized: it is not removed from responses`,
    ),
  ]
  return warnings.length === 0 ? undefined : warnings.join('; ')
}

/** Finds `${…}` that aren't variables, such as `${NAME:-default}`. */
function unreadVariables(http: HttpImplementation): string[] {
  return (['headers', 'query', 'auth'] as const).flatMap((key) =>
    Object.entries<unknown>(http[key] ?? {})
      .filter(
        ([, text]) =>
          typeof text === 'string' && splitAtVariables(text).some((part, at) => at % 2 === 0 && part.includes('${')),
      )
      .map(([name]) => `implementation.${key}.${name}`),
  )
}

function unsentObjects({ params_in = {} }: HttpImplementation, parameters: JsonSchema): string[] {
  const named = namedParameters(parameters)
  const properties = isObject(parameters.properties) ? parameters.properties : {}
  return Object.entries(params_in).flatMap(([name, placement]) => {
    const apart = typeof placement === 'object' && placement.style === 'form' && placement.explode !== false
    const own = properties[name]
    return apart && isObject(own) && own.type === 'object' && named.get(name)?.size === 0 ? [name] : []
  })
}

function shortVariables({ headers = {}, query = {}, auth }: HttpImplementation, env: Environment): string[] {
  const secretParts = Object.entries<unknown>(auth ?? {}).filter(([field]) => SECRET_AUTH.has(field))
  const texts = [...Object.values(headers), ...Object.values(query), ...secretParts.map(([, text]) => text)]
  const names = texts.flatMap((text) =>
    typeof text === 'string' ? splitAtVariables(text).filter((_, at) => at % 2 === 1) : [],
  )
  return [...new Set(names)].filter((name) => {
    const value = variableIn(env, name)
    return value !== undefined && !SecretValues.isLongEnough(value)
  })
}

/** The URL with its variables replaced; null if it isn't one. */
export const expandedUrl = (written: string, env: Environment): URL | null =>
  URL.parse(expandUrl(written, (name) => variableIn(env, name) ?? '').text)

/** Warns if the URL alone is blocked by network policy. Names are resolved with each call. */
export function reachFault(
  { url, auth, allowed_domains }: HttpImplementation,
  env: Environment,
  rules: NetworkRules,
): string | undefined {
  for (const written of auth?.type === 'oauth2' ? [url, auth.token_url] : [url]) {
    const asked = expandedUrl(written, env)
    const refusal = asked === null ? undefined : rules.forTool(asked, allowed_domains).refusal(asked)
    if (refusal !== undefined) return `It is blocked by network policy. ${refusal}`
  }
  return undefined
}
