import type { ReceivedPairs } from './received-pairs.ts'
import { TOKEN } from './recording-server.ts'
import type { StatedCredential } from './stated-request.ts'

/** What every variable of the environment holds begins so. */
export const FAKE = 'value-of-'

/** Where credentials may have come. */
export interface Places {
  /** Names in lower case. Whatever is found in it is taken out. */
  readonly headers: Map<string, string>
  readonly query: ReceivedPairs
  readonly cookies: ReceivedPairs
}

const isFake = (text: string): boolean => text.startsWith(FAKE)

/** What is wrong with the credentials that came: they must be those of the first alternative that can be done. */
export function checkCredentials(security: readonly (readonly StatedCredential[])[], places: Places): string[] {
  const first = security.find((alternative) => isPossible(alternative))
  if (security.length > 0 && first === undefined)
    return ['no credentials of the document can be shown, and yet it was called']
  // Several schemes may mean the same.
  const shown = new Map((first ?? []).map((one) => [JSON.stringify(one).toLowerCase(), one]))
  return [...shown.values()].flatMap((one) => checkOne(one, places))
}

/** A request has one authorization: two tokens may be one, other things not. */
function isPossible(alternative: readonly StatedCredential[]): boolean {
  const isKnown = alternative.every(
    (one) =>
      one.kind !== 'impossible' &&
      (one.kind !== 'client' || URL.canParse(one.tokenUrl, 'http://base/')) &&
      (one.kind !== 'key' || ['header', 'query', 'cookie'].includes(one.in)) &&
      (one.kind !== 'key' || one.in === 'query' || /^[\w!#$%&'*+.^`|~-]+$/.test(one.name)),
  )
  const isAuthorization = (one: StatedCredential): boolean =>
    one.kind !== 'key' || (one.in === 'header' && one.name.toLowerCase() === 'authorization')
  return isKnown && new Set(alternative.filter(isAuthorization).map(({ kind }) => kind)).size <= 1
}

function checkOne(credential: StatedCredential, { headers, query, cookies }: Places): string[] {
  if (credential.kind === 'key') {
    if (credential.in === 'query') return query.takeWhere(credential.name, isFake)
    if (credential.in === 'cookie') return cookies.takeWhere(credential.name, isFake)
  }
  const name = credential.kind === 'key' ? credential.name.toLowerCase() : 'authorization'
  const value = headers.get(name) ?? ''
  headers.delete(name)
  return isShown(credential.kind, value) ? [] : [`the header ${name} is '${value}', which is no ${credential.kind}`]
}

function isShown(kind: StatedCredential['kind'], value: string): boolean {
  const [, scheme = '', rest = ''] = /^(\S+) (.+)$/.exec(value) ?? []
  switch (kind) {
    case 'key':
      return isFake(value)
    case 'bearer':
      return scheme === 'Bearer' && isFake(rest)
    case 'client':
      return scheme === 'Bearer' && rest === TOKEN
    case 'basic':
      return scheme === 'Basic' && Buffer.from(rest, 'base64').toString().split(':').every(isFake)
    default:
      return false
  }
}
