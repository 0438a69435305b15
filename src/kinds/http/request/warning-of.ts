import { type Environment, splitAtVariables, variableIn } from '../../../core/expand-variables.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import { suggest } from '../../../core/suggest.ts'
import type { JsonSchema, ToolDefinition } from '../../../core/tool.ts'
import { HTTP_IMPLEMENTATION_SCHEMA, type HttpImplementation } from '../definition/http-implementation.ts'
import { literalSecrets, SECRET_AUTH, SecretValues } from '../definition/secret-values.ts'
import type { NetworkRules } from '../network/network-rules.ts'
import { expandUrl } from './expand-implementation.ts'
import { namedParameters } from './placed-parameters.ts'

/**
 * Warns about a valid definition: unknown keys, literal secrets, and secrets that are too short to be removed from
 * responses. Never quotes a secret.
 */
export function warningOf({ implementation, parameters }: ToolDefinition, env: Environment = {}): string | undefined {
  const http = implementation as HttpImplementation
  const places = new Set(literalSecrets(http).map(({ place }) => place))
  const warnings = [
    ...unknownKeys(http, HTTP_IMPLEMENTATION_SCHEMA, 'implementation'),
    ...[...places].map(
      (place) => `${place} has a secret written out: put it into an environment variable, and write \${NAME} there`,
    ),
    ...unreadVariables(http).map(
      (place) => `${place} has a \${…} that names no variable, and is sent as it is: use letters, digits and _ only`,
    ),
    ...unsentObjects(http, parameters).map(
      (name) =>
        `implementation.params_in.${name} sends each key apart, and only keys that the schema names: it names none, so nothing is sent`,
    ),
    ...shortVariables(http, env).map(
      (name) =>
        `The value of the environment variable ${name} is too short to be found again: it is not taken out of answers`,
    ),
  ]
  return warnings.length === 0 ? undefined : warnings.join('; ')
}

/** The keys that the schema doesn't know, at any depth. */
function unknownKeys(value: Readonly<Record<string, unknown>>, schema: object, place: string): string[] {
  const known = propertiesOf(schema)
  if (known.size === 0) return []
  return Object.entries(value).flatMap(([key, one]) => {
    const own = known.get(key)
    if (own !== undefined) return isObject(one) && isObject(own) ? unknownKeys(one, own, `${place}.${key}`) : []
    const [near] = suggest(key, known.keys())
    return [`unknown key '${place}.${key}' is ignored${near === undefined ? '' : `: did you mean '${near}'?`}`]
  })
}

function propertiesOf(schema: object): Map<string, unknown> {
  const { properties, oneOf } = schema as { properties?: object; oneOf?: readonly object[] }
  const forms = (oneOf ?? []).flatMap((form) => [...propertiesOf(form)])
  return new Map([...Object.entries(properties ?? {}), ...forms])
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

/** Exploded object parameters without declared keys. */
function unsentObjects({ params_in = {} }: HttpImplementation, parameters: JsonSchema): string[] {
  const named = namedParameters(parameters)
  const properties = isObject(parameters.properties) ? parameters.properties : {}
  return Object.entries(params_in).flatMap(([name, placement]) => {
    const apart = typeof placement === 'object' && placement.style === 'form' && placement.explode !== false
    const own = properties[name]
    return apart && isObject(own) && own.type === 'object' && named.get(name)?.size === 0 ? [name] : []
  })
}

/** Variables whose values are too short to be searched for in responses. */
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

/** Warns if the URL alone is blocked by network policy. Names are resolved with each call. */
export function reachWarning(
  { url, auth, allowed_domains }: HttpImplementation,
  env: Environment,
  rules: NetworkRules,
): string | undefined {
  for (const written of auth?.type === 'oauth2' ? [url, auth.token_url] : [url]) {
    const asked = URL.parse(expandUrl(written, (name) => variableIn(env, name) ?? '').text)
    const refusal = asked === null ? undefined : rules.forTool(asked, allowed_domains).refusal(asked)
    if (refusal !== undefined) return `It is blocked by network policy. ${refusal}`
  }
  return undefined
}
