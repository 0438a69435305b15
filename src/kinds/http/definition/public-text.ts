import { SOURCED_PREFIX } from '../../../core/environment.ts'
import { isCredentialName } from './secret-values.ts'

/**
 * What counts of the texts of a definition when a person approves its calls: all that is written, and the values of variables,
 * except credentials, which may be replaced at any time.
 */

/** `AUTH_URL` and `TOKEN_SERVICE` say where something is, not what protects it. */
const NAME_OF_PLACE =
  /(?:ur[il]|host|hostname|server|service|endpoint|base|origin|domain|address|port|path|dir|folder|file|user|username|account|tenant|name)$/i

/** Whether the value of a variable, header, parameter or key with this name is a credential. */
export const isSecretKey = (name: string): boolean => isCredentialName(name) && !NAME_OF_PLACE.test(name)

interface Variable {
  readonly name: string
  readonly value: string | undefined
  /** Whether its name, or what is known of it, says that it is a credential. */
  readonly isSecret: boolean
}

/** Where a text is used: as an address, as a command or folder, where files are usual, or elsewhere. */
export type Place = 'address' | 'command' | 'argument' | 'text'

interface PublicText {
  /** Texts and variables alternate. */
  readonly parts: readonly string[]
  readonly place: Place
  /** Whether the name of the text says that it is a credential. */
  readonly isSecret: boolean
  /** Undefined for what isn't replaced here. */
  readonly find: (variable: string) => Variable | undefined
}

/** The text as it is written, with the values of its variables that count. */
export function publicText(written: string, { parts, place, isSecret, find }: PublicText): string {
  const values: (string | null)[] = []
  let before = ''
  for (let at = 1; at < parts.length; at += 2) {
    before += parts[at - 1]
    const inside = parts[at] as string
    const variable = find(inside)
    if (variable === undefined) {
      before += `\${${inside}}`
      continue
    }
    const after = parts[at + 1] as string
    values.push(valueThatCounts({ ...variable, isSecret: isSecret || variable.isSecret }, { before, after, place }))
    before += variable.value ?? ''
  }
  return values.length === 0 ? written : JSON.stringify([written, ...values])
}

interface Around {
  readonly before: string
  readonly after: string
  readonly place: Place
}

/** Null if the value may change. */
function valueThatCounts({ name, value = '', isSecret }: Variable, around: Around): string | null {
  const isHost = around.place === 'address' && !isPastHost(around.before)
  if (around.place === 'command') return value
  if (name.startsWith(SOURCED_PREFIX)) {
    if (isHost || value.includes('://')) return originOf(value)
    return around.place === 'argument' && isPlace(value, around) ? value : null
  }
  if (isPassword(value, around)) return null
  if (isHost) return value
  const isCredential = isSecret || isNamed(value, around.before)
  // A shell makes something else of other values.
  const isWhole = around.place !== 'argument' || ONE_VALUE.test(value)
  return isCredential && isWhole && !isPlace(value, around) ? null : value
}

/** `http:///a/` names the host `a`. */
const PAST_HOST = /^[^/?#\\]*:\/\/[/\\]*[^/?#\\]+[/?#\\]/

export const isPastHost = (address: string): boolean => PAST_HOST.test(address)

/** Whether it is the password of an address, and stays it. */
const isPassword = (value: string, { before, after }: Around): boolean =>
  after.startsWith('@') && /:\/\/[^/?#\\@\s:]*:$/.test(before) && /^[^/?#\\@\s]+$/.test(value)

/** What may stand between the name of a credential and its value, after `=` or `:`. */
const BEFORE_VALUE = /^\s*["']?(?:(?:Bearer|Basic|Token|ApiKey)\s+)?$/i
/** Nothing that ends a parameter, or that a shell makes something else of. */
const ONE_VALUE = /^[^\s$`(){}|<>"'\\&;#?]*$/

/** Whether a credential's name is written before it. */
function isNamed(value: string, before: string): boolean {
  const name = nameBefore(before)
  return name !== '' && isSecretKey(name) && ONE_VALUE.test(value)
}

/** The name in `token=`, `--token=`, `Authorization: Bearer ` or `"token":"`; empty if there is none. */
function nameBefore(before: string): string {
  const at = Math.max(before.lastIndexOf('='), before.lastIndexOf(':'))
  if (at < 0 || !BEFORE_VALUE.test(before.slice(at + 1))) return ''
  const named = before.slice(0, at).trimEnd().replace(/["']$/, '')
  return named.split(/[^\w.-]/).at(-1) as string
}

/** Whether it says where something is: an address, or a path where there may be one. */
function isPlace(value: string, { before, place }: Around): boolean {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || /^\.{1,2}$/.test(value)) return true
  if (place === 'text') return false
  if (/^(?:\.{0,2}\/|~\/|[a-z]:[\\/])/i.test(value)) return true
  if (place === 'address' && before.includes('?')) return false
  return /[\\/]/.test(value) || /^[^.]+\.[a-z]\w{0,4}$/i.test(value)
}

/** Where requests to an address go: scheme, host and port. */
function originOf(address: string): string {
  const [scheme = ''] = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i.exec(address) ?? []
  const [authority = ''] = address.slice(scheme.length).split(/[/?#\\]/, 1)
  return scheme + authority.slice(authority.lastIndexOf('@') + 1)
}
