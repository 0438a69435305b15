import { ownObject, ownText, type RawObject } from './raw.ts'
import { shortHash } from './short-hash.ts'

const LONGEST = 40

/** What a security scheme needs from the environment. */
export type Secret = 'TOKEN' | 'API_KEY' | 'USERNAME' | 'PASSWORD' | 'CLIENT_ID' | 'CLIENT_SECRET'

/** The families of schemes whose variables would have the same name. */
type Family = 'token' | 'key' | 'basic' | 'client'

/**
 * The names of the variables that hold the secrets of an API: `PETSTORE_TOKEN`. Where a document has several schemes of
 * one family, the name of the scheme is in them too.
 */
export class VariableNames {
  readonly #start: string
  readonly #schemes: ReadonlyMap<string, RawObject>

  constructor(prefix: string, title: string, schemes: ReadonlyMap<string, RawObject>) {
    this.#start = capitals(prefix) || capitals(title.slice(0, 200)).replace(/_API$/, '') || 'API'
    this.#schemes = schemes
  }

  of(scheme: string, secret: Secret): string {
    const family = familyOf(this.#schemes.get(scheme))
    const rivals = [...this.#schemes].filter(([, other]) => familyOf(other) === family).map(([name]) => name)
    const start = /^\d/.test(this.#start) ? `API_${this.#start}` : this.#start
    if (rivals.length <= 1) return `${start}_${secret}`
    const own = capitals(scheme)
    const same = rivals.filter((name) => capitals(name) === own).length
    const middle = own === '' || same > 1 ? `${own}${own && '_'}${shortHash(scheme, 6).toUpperCase()}` : own
    return `${start}_${middle}_${secret}`
  }
}

/** Text as part of the name of a variable. */
function capitals(text: string): string {
  const letters = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toUpperCase()
  return letters
    .replace(/[^A-Z0-9]+/g, '_')
    .slice(0, LONGEST)
    .replace(/^_+|(?<!_)_+$/g, '')
}

export function familyOf(scheme: RawObject | undefined): Family {
  const type = ownText(scheme, 'type')
  if (type === 'apiKey') return 'key'
  if (type === 'http' && ownText(scheme, 'scheme')?.toLowerCase() === 'basic') return 'basic'
  const flows = ownObject(scheme, 'flows')
  return type === 'oauth2' && Object.hasOwn(flows, 'clientCredentials') ? 'client' : 'token'
}
