import { SOURCED_PREFIX } from '../../../core/environment.ts'
import { CREDENTIAL_FORMATS } from '../../../core/records/redact.ts'
import { isSecretName } from './secret-values.ts'

/**
 * What counts of the texts of a definition when a person approves its calls: everything except secrets, which may be replaced
 * at any time. If a secret can't be separated from the rest, all of it counts.
 */

const REDACTED = '[redacted]'
/** Shorter values count: they are more likely a choice than a secret. */
const MIN_CHARACTERS = 6

const SECRET_VARIABLE = /(?:^|_)(?:key|pat|pin|jwt|sig|signature|auth|bearer|pass|creds?)(?:_|$)/i
/** `AUTH_URL` and `TOKEN_SERVICE` say where something is, not what protects it. */
const NAME_OF_PLACE =
  /(?:ur[il]|host|hostname|server|service|endpoint|base|origin|domain|address|port|path|dir|folder|file|user|username|account|tenant|name)$/i

/** Whether the value of this header, query parameter or key is a secret. */
export const isSecretKey = (name: string): boolean => isSecretName(name) && !NAME_OF_PLACE.test(name)

/** Whether the value of this variable is a secret. */
export const isSecretVariable = (name: string): boolean =>
  (isSecretName(name) || SECRET_VARIABLE.test(name)) && !NAME_OF_PLACE.test(name)

interface Variable {
  readonly name: string
  readonly value: string | undefined
  readonly isSecret: boolean
}

/** Where a variable is: before the path of a URL, in a path of this machine, where addresses are usual, or in another text. */
export type Place = 'host' | 'path' | 'address' | 'text'

/** The value of a variable, or the variable itself if it may be a secret. */
export function publicValue({ name, value, isSecret }: Variable, place: Place): string {
  if (value === undefined) return `\${${name}}`
  if (isSourced(name)) {
    if (place === 'host') return originOf(value)
    return `\${${name}}${value.includes('://') ? originOf(value) : ''}`
  }
  return isSecret && !isPlace(value, place) ? `\${${name}}` : value
}

const isSourced = (name: string): boolean => name.startsWith(SOURCED_PREFIX)

/** Where requests to an address go: scheme, host and port. */
function originOf(address: string): string {
  const { scheme, host } = partsOf(address)
  return scheme + host
}

function isPlace(value: string, place: Place): boolean {
  if (place === 'host' || place === 'path') return true
  if (/^(?:[a-z][a-z0-9+.-]*:\/\/|\.{0,2}\/|~\/|[a-z]:[\\/])/i.test(value)) return true
  return place === 'address' && (/[\\/]/.test(value) || /^[^.]+\.[a-z]\w{0,4}$/i.test(value))
}

/**
 * The text with the values of its variables, `expanded`, without secrets. If something was left out, the names of the
 * variables count, too.
 */
export function publicParts(written: string, expanded: string, clean: (text: string) => string): string {
  const shown = clean(expanded)
  if (written === expanded || (shown === expanded && !written.includes(`\${${SOURCED_PREFIX}`))) return shown
  return `${shown}\n${clean(written)}`
}

/** Replaces the secrets that are written out in a text. `isSecret`: the text is the value of a name that says so. */
export function publicText(text: string, isSecret = false): string {
  if (isSecret && !isPlace(text, 'text')) {
    const [, before, value] = ONE_VALUE.exec(text) ?? []
    if (value !== undefined) return `${before}${REDACTED}`
  }
  const values = isJson(text) ? text.replaceAll(JSON_VALUE, withoutJsonValue) : text
  return values
    .split(ADDRESS)
    .map((part, at) => (at % 2 === 0 ? publicWords(part) : publicAddress(part)))
    .join('')
}

/** In `Bearer abcdef` and `session=abcdef`, only `abcdef` is secret. */
const ONE_VALUE = /^((?:[\w-]+\s+)?(?:[\w.-]+=)?)([^\s,;&="'`{}()$]{6,}={0,2})$/
const ADDRESS = /((?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>]+)/i
const JSON_VALUE = /("((?:[^"\\]|\\.)*)"\s*:\s*)"((?:[^"\\]|\\.)*)"/g

function withoutJsonValue(whole: string, before: string, name: string, value: string): string {
  return isSecretKey(name) && isOneValue(value) ? `${before}"${REDACTED}"` : whole
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const FORMATS = new RegExp([...CREDENTIAL_FORMATS, '(?<=\\bBearer )[\\w.~+=-]{8,}'].join('|'), 'g')
/** `NAME=value` and `name: value`, if nothing follows that might belong to the value. */
const NAMED =
  /(?<![\w.-])([\w.-]+)(["']?\s*[=:]\s*["']?(?:(?:Bearer|Basic|Token|ApiKey)\s+)?)([\w.~+%!*^-]{6,}={0,2})(?=[\s"'`,;&)}\]|<>]|$)/g

function publicWords(text: string): string {
  const known = text.replaceAll(FORMATS, REDACTED)
  return known.replaceAll(NAMED, (whole, name: string, between: string, value: string) => {
    const isSecret = /^[A-Z0-9_]+$/.test(name) ? isSecretVariable(name) : isSecretKey(name)
    return isSecret && !isPlace(value, 'address') ? `${name}${between}${REDACTED}` : whole
  })
}

const PAST_HOST = /^[^/?#\\]*:\/\/[^/?#\\]*[/?#\\]/

export const isPastHost = (address: string): boolean => PAST_HOST.test(address)

const SCHEME = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i

/** The parts of an address, which together are the address. */
function partsOf(text: string) {
  const scheme = SCHEME.exec(text)?.[0] ?? ''
  const rest = text.slice(scheme.length)
  const [authority = ''] = rest.split(/[/?#\\]/, 1)
  const login = authority.slice(0, authority.lastIndexOf('@') + 1)
  const after = rest.slice(authority.length)
  const [path = ''] = after.split(/[?#]/, 1)
  const [query = ''] = after.slice(path.length).split('#', 1)
  const host = authority.slice(login.length)
  return { scheme, login, host, path, query, fragment: after.slice(path.length + query.length) }
}

/** An address without its password, the values of secret parameters, and keys in its path. Scheme, host and port count. */
export function publicAddress(text: string): string {
  const { scheme, login, host, path, query, fragment } = partsOf(text)
  const shownLogin = login.replace(/^([^:]*:)([^$`(){}|<>"'\s]+)@$/, `$1${REDACTED}@`)
  const shownQuery = query
    .split(/([?&;])/)
    .map(publicParameter)
    .join('')
  return `${scheme}${shownLogin.replaceAll(FORMATS, REDACTED)}${host}${publicWords(path)}${shownQuery}${publicWords(fragment)}`
}

function publicParameter(parameter: string): string {
  const at = parameter.indexOf('=')
  const [name, value] = [parameter.slice(0, Math.max(0, at)), parameter.slice(at + 1)]
  if (at !== -1 && isSecretKey(decoded(name)) && isOneValue(value)) return `${name}=${REDACTED}`
  return parameter.replaceAll(FORMATS, REDACTED)
}

/** Neither an address, nor words that a shell or a variable would make something else of. */
const isOneValue = (text: string): boolean =>
  text.length >= MIN_CHARACTERS && /^[^\s$`(){}|<>"'\\]+$/.test(text) && !isPlace(decoded(text), 'text')

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
