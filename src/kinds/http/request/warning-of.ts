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
 * What to think about in a definition that can be used: keys that nothing reads, secrets that are written out, secrets
 * that are too short to be taken out of answers. It never quotes a secret.
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

/** The keys of an object, and of the objects in it, that its schema does not know. */
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

/** Where a `${…}` stands that nothing replaces, such as `${NAME:-usual}`. */
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

/** The parameters that are objects of anything, and sent key by key. */
function unsentObjects({ params_in = {} }: HttpImplementation, parameters: JsonSchema): string[] {
  const named = namedParameters(parameters)
  const properties = isObject(parameters.properties) ? parameters.properties : {}
  return Object.entries(params_in).flatMap(([name, placement]) => {
    const apart = typeof placement === 'object' && placement.style === 'form' && placement.explode !== false
    const own = properties[name]
    return apart && isObject(own) && own.type === 'object' && named.get(name)?.size === 0 ? [name] : []
  })
}

/** The variables of secrets whose values are not looked for in answers. */
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

/** Why every call of a tool will be refused, where its address alone says so: names are looked up when it is called. */
export function reachWarning(
  { url, auth, allowed_domains }: HttpImplementation,
  env: Environment,
  rules: NetworkRules,
): string | undefined {
  for (const written of auth?.type === 'oauth2' ? [url, auth.token_url] : [url]) {
    const asked = URL.parse(expandUrl(written, (name) => variableIn(env, name) ?? '').text)
    const refusal = asked === null ? undefined : rules.forTool(asked, allowed_domains).refusal(asked)
    if (refusal !== undefined) return `It leads where it must not. ${refusal}`
  }
  return undefined
}
