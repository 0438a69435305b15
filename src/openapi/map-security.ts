import { setOwn } from '../core/json/json-type.ts'
import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { HttpAuth } from '../kinds/http/definition/http-implementation.ts'
import { own, ownObject, ownText, type RawObject, Unmappable } from './documents.ts'
import { shortHash, withoutMarks } from './tool-names.ts'

export interface Credentials {
  readonly auth?: HttpAuth
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly notes: readonly string[]
}

const NONE: Credentials = { headers: {}, query: {}, notes: [] }
const TWO_AT_ONCE = 'two kinds of authorization at once'
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

type Key = Extract<HttpAuth, { type: 'api_key' }>

type Piece =
  | { readonly auth: HttpAuth; readonly note?: string }
  | { readonly key: Key }
  | { readonly cookie: string; readonly note: string }
  | { readonly problem: string }

/** Returns the first alternative that tools support. Throws `Unmappable` if there is none. */
export function mapSecurity(
  requirements: unknown,
  schemes: ReadonlyMap<string, RawObject>,
  names: VariableNames,
  server: string,
): Credentials {
  if (!Array.isArray(requirements) || requirements.length === 0) return NONE
  const problems: string[] = []
  for (const requirement of requirements) {
    const pieces = Object.entries(isObject(requirement) ? requirement : {}).map(([name, scopes]) =>
      piece(name, schemes.get(name), scopes, names, server),
    )
    const credentials = together(pieces)
    if (typeof credentials !== 'string') return credentials
    problems.push(credentials)
  }
  throw new Unmappable(`it requires credentials that tools cannot send: ${[...new Set(problems)].join('; ')}`)
}

/** Combines all schemes of an alternative; a reason if they can't be combined. */
function together(pieces: readonly Piece[]): Credentials | string {
  const notes: string[] = []
  const headers: Record<string, string> = {}
  const query: Record<string, string> = {}
  let auth: HttpAuth | undefined
  const keys: Key[] = []
  for (const one of pieces) {
    if ('problem' in one) return one.problem
    if ('auth' in one && one.auth.type === 'bearer' && auth?.type === 'bearer') {
      notes.push('one token is used for several schemes: a request has only one')
      continue
    }
    if ('note' in one && one.note !== undefined) notes.push(one.note)
    if ('key' in one) keys.push(one.key)
    else if ('cookie' in one)
      headers.cookie = headers.cookie === undefined ? one.cookie : `${headers.cookie}; ${one.cookie}`
    else if (auth !== undefined) return TWO_AT_ONCE
    else auth = one.auth
  }
  for (const key of keys) {
    const isShown = auth?.type === 'api_key' && auth.in === key.in && sameName(auth, key)
    if (auth === undefined) auth = key
    else if (isShown) continue
    else if (key.in === 'query') setOwn(query, key.name, key.value)
    else if (auth.type !== 'api_key' && key.name.toLowerCase() === 'authorization') return TWO_AT_ONCE
    else setOwn(headers, key.name.toLowerCase(), key.value)
  }
  return { headers, query, notes, ...(auth !== undefined && { auth }) }
}

/** Several schemes may mean the same key. */
function sameName(one: Key, other: Key): boolean {
  return one.in === 'query' ? one.name === other.name : one.name.toLowerCase() === other.name.toLowerCase()
}

function piece(
  name: string,
  scheme: RawObject | undefined,
  scopes: unknown,
  names: VariableNames,
  server: string,
): Piece {
  const variable = (secret: Secret, url = server): string => `\${${names.of(name, secret, url)}}`
  const token = { type: 'bearer', token: variable('TOKEN') } as const
  switch (ownText(scheme, 'type')) {
    case 'http':
      return http(name, ownText(scheme, 'scheme')?.toLowerCase(), token, variable)
    case 'apiKey':
      return apiKey(name, scheme, variable('API_KEY'))
    case 'openIdConnect':
      return {
        auth: token,
        note: `a token of ${quoted(name)} (OpenID Connect) must be in ${token.token}: tools do not log in`,
      }
    case 'oauth2': {
      const flow = own(ownObject(scheme, 'flows'), 'clientCredentials')
      if (!isObject(flow)) {
        return {
          auth: token,
          note: `a token of ${quoted(name)} (OAuth 2) must be in ${token.token}: tools do not log in`,
        }
      }
      return clientCredentials(flow, scopes, server, (url) => ({
        client_id: variable('CLIENT_ID', url),
        client_secret: variable('CLIENT_SECRET', url),
      }))
    }
    case 'mutualTLS':
      return { problem: `${quoted(name)} is a client certificate` }
    default:
      return { problem: `${quoted(name)} is not a security scheme of the document` }
  }
}

function http(
  name: string,
  scheme: string | undefined,
  token: HttpAuth,
  variable: (secret: 'USERNAME' | 'PASSWORD') => string,
): Piece {
  if (scheme === 'bearer') return { auth: token }
  if (scheme === 'basic')
    return { auth: { type: 'basic', username: variable('USERNAME'), password: variable('PASSWORD') } }
  return { problem: `${quoted(name)} is HTTP authentication of the kind ${quoted(scheme ?? '')}` }
}

function apiKey(name: string, scheme: RawObject | undefined, value: string): Piece {
  const place = ownText(scheme, 'in')
  const parameter = ownText(scheme, 'name') ?? ''
  if (parameter === '' || parameter.includes('${')) return { problem: `${quoted(name)} is a key without a proper name` }
  if (place === 'query') return { key: { type: 'api_key', in: place, name: parameter, value } }
  if (!HEADER_NAME.test(parameter))
    return { problem: `${quoted(name)} is a key in ${quoted(parameter)}, which cannot be one` }
  if (place === 'header') return { key: { type: 'api_key', in: place, name: parameter, value } }
  if (place !== 'cookie') return { problem: `${quoted(name)} is a key in ${quoted(place ?? '')}` }
  return {
    cookie: `${parameter}=${value}`,
    note: `the key ${quoted(name)} is sent in a cookie, which most APIs give only to browsers`,
  }
}

function clientCredentials(
  flow: RawObject,
  scopes: unknown,
  server: string,
  clientOf: (url: string) => { readonly client_id: string; readonly client_secret: string },
): Piece {
  const written = ownText(flow, 'tokenUrl') ?? ''
  const url = URL.parse(written, `${server}/`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || /[{}]/.test(written)) {
    return { problem: `its token URL ${quoted(written)} is not a URL` }
  }
  const scope = (Array.isArray(scopes) ? scopes : [])
    .filter((one) => typeof one === 'string' && /^[!#-[\]-~]+$/.test(one))
    .join(' ')
  if (scope.includes('${')) return { problem: 'one of its scopes has "${" in it' }
  return { auth: { type: 'oauth2', token_url: url.href, ...clientOf(url.href), ...(scope !== '' && { scope }) } }
}

const MAX_NAME_PART = 40

type Secret = 'TOKEN' | 'API_KEY' | 'USERNAME' | 'PASSWORD' | 'CLIENT_ID' | 'CLIENT_SECRET'

/** The families of schemes whose variables would have the same name. */
type Family = 'token' | 'key' | 'basic' | 'client'

/**
 * Names environment variables after the host that gets their values, such as `PETS_EXAMPLE_TOKEN`: a document must not
 * choose a variable that is set for somebody else. If several schemes would share a name, the name of the scheme is added.
 */
export class VariableNames {
  readonly #schemes: ReadonlyMap<string, RawObject>
  /** How many schemes each family has, and how many of them are written the same in capitals. */
  readonly #counts = new Map<string, number>()

  constructor(schemes: ReadonlyMap<string, RawObject>) {
    this.#schemes = schemes
    for (const [name, scheme] of schemes) {
      const family = familyOf(scheme)
      for (const key of [family, `${family} ${capitals(name)}`]) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
  }

  of(scheme: string, secret: Secret, url: string): string {
    const family = familyOf(this.#schemes.get(scheme))
    const start = hostPart(url)
    if ((this.#counts.get(family) ?? 0) <= 1) return `${start}_${secret}`
    const own = capitals(scheme)
    const middle =
      own === '' || (this.#counts.get(`${family} ${own}`) ?? 0) > 1
        ? `${own}${own && '_'}${shortHash(scheme, 6).toUpperCase()}`
        : own
    // No host has three: bank.co must not get the variable of bank.co.uk with a scheme called UK.
    return `${start}___${middle}_${secret}`
  }
}

/** `api.example.com` as `API_EXAMPLE_COM`. No other domain has the same text: a dash is two underscores. */
function hostPart(url: string): string {
  const hostname = URL.parse(url)?.hostname ?? ''
  const whole = hostname
    .toUpperCase()
    .replaceAll(/[^A-Z0-9.]/g, '__')
    .replaceAll('.', '_')
  const isLong = whole.length > MAX_NAME_PART
  const name = isLong ? `${whole.slice(-MAX_NAME_PART)}___${shortHash(hostname).toUpperCase()}` : whole
  // A host without a dot could be called like any variable.
  return hostname.includes('.') && /^[A-Z]/.test(name) ? name : `API_${name}`
}

function capitals(text: string): string {
  return withoutMarks(text.slice(0, 4 * MAX_NAME_PART))
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .slice(0, MAX_NAME_PART)
    .replace(/^_+|(?<!_)_+$/g, '')
}

function familyOf(scheme: RawObject | undefined): Family {
  const type = ownText(scheme, 'type')
  if (type === 'apiKey') return 'key'
  if (type === 'http' && ownText(scheme, 'scheme')?.toLowerCase() === 'basic') return 'basic'
  const flows = ownObject(scheme, 'flows')
  return type === 'oauth2' && Object.hasOwn(flows, 'clientCredentials') ? 'client' : 'token'
}

/** The hosts that get the value of a variable. */
export function hostsOf(variable: string, definitions: readonly ToolDefinition[]): string[] {
  const hosts = new Set<string>()
  for (const { implementation } of definitions) {
    const { url, headers, query, auth } = implementation
    const isIn = (part: unknown): boolean => JSON.stringify([part]).includes(`\${${variable}}`)
    const { token_url } = Object(auth) as { readonly token_url?: string }
    if (isIn([headers, query])) hosts.add(new URL(String(url)).host)
    if (isIn(auth)) hosts.add(new URL(token_url ?? String(url)).host)
  }
  return [...hosts].sort()
}
