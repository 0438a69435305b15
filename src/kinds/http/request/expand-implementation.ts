import { type Environment, splitAtVariables, variableIn } from '../../../core/expand-variables.ts'
import type { HttpAuth, HttpImplementation } from '../http-implementation.ts'
import { hasControlCharacter, isHeaderValue } from './control-characters.ts'
import { expandUrl } from './expand-url.ts'
import { literalSecrets } from './literal-secrets.ts'
import { unfitImplementation } from './unfit-implementation.ts'

/** An implementation with its variables replaced. */
export interface ExpandedImplementation {
  readonly implementation: HttpImplementation
  /** What must never be shown: the values of variables outside the host, and secrets that are written out. */
  readonly secrets: ReadonlySet<string>
}

/** Replaces every `${VAR}` in `url`, `headers`, `query` and `auth`. Throws where one is missing, or cannot be sent. */
export function expandImplementation(written: HttpImplementation, env: Environment): ExpandedImplementation {
  const secrets = new Set(literalSecrets(written).map(({ value }) => value))

  const expandAddress = (text: string, place: string): string => {
    const expanded = expandUrl(text, (name) => valueOfVariable(name, place, env))
    for (const secret of expanded.secrets) secrets.add(secret)
    return expanded.text
  }
  const expandText = (text: string, place: string, inHeader: boolean): string => {
    if (!text.includes('${')) return text
    return splitAtVariables(text).reduce((whole, part, at) => {
      if (at % 2 === 0) return whole + part
      const value = valueOfVariable(part, place, env)
      if (inHeader && !isHeaderValue(value)) {
        throw unfitImplementation(
          `The environment variable ${part} holds a character that no header may have, and ${place} is sent in one: set it to plain ASCII text`,
        )
      }
      secrets.add(value)
      return whole + value
    }, '')
  }
  const expandTexts = (texts: Readonly<Record<string, string>>, place: string, inHeader: boolean) =>
    Object.fromEntries(
      // What nothing reads may be anything.
      Object.entries(texts).map(([name, text]) => [
        name,
        typeof text === 'string' ? expandText(text, `${place}.${name}`, inHeader) : text,
      ]),
    )
  const expandAuth = (auth: HttpAuth): HttpAuth => {
    const inHeader = auth.type === 'bearer' || (auth.type === 'api_key' && auth.in === 'header')
    const { token_url, ...texts } = auth as HttpAuth & { token_url?: string }
    const expanded = expandTexts(texts, 'implementation.auth', inHeader)
    if (token_url !== undefined) expanded.token_url = expandAddress(token_url, 'implementation.auth.token_url')
    return expanded as HttpAuth
  }

  const { url, headers, query, auth } = written
  const implementation = {
    ...written,
    url: expandAddress(url, 'implementation.url'),
    ...(headers && { headers: expandTexts(headers, 'implementation.headers', true) }),
    ...(query && { query: expandTexts(query, 'implementation.query', false) }),
    ...(auth && { auth: expandAuth(auth) }),
  }
  return { implementation, secrets }
}

function valueOfVariable(name: string, place: string, env: Environment): string {
  const value = variableIn(env, name)
  if (value === undefined) {
    throw unfitImplementation(
      `The environment variable ${name} is not set: set it, or take \${${name}} out of the definition`,
    )
  }
  if (hasControlCharacter(value)) {
    throw unfitImplementation(
      `The environment variable ${name} holds a line end or another control character, and ${place} cannot: set it to one line of text`,
    )
  }
  return value
}
