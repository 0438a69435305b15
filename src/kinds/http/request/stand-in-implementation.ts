import { splitAtVariables } from '../../../core/expand-variables.ts'
import type { HttpAuth, HttpImplementation } from '../http-implementation.ts'
import { standInUrl } from './expand-url.ts'

/** An implementation with something in the place of each variable, so that its form can be checked before they are known. */
export function standInImplementation(written: HttpImplementation): HttpImplementation {
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
