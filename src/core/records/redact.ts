import { parseJson } from '../json/json-depth.ts'
import { LIMITS } from '../snapshot.ts'
import { mediaText, readMedia } from '../tool-result.ts'

const SECRET_KEY =
  /pass(word|wd|phrase|code)|pwd|secret|token|(api|access|private)[-_]?key|authorization|credential|cookie|^auth$|^bearer$/i

/** A capital or a digit soon: keys have some, words in snake_case have none. Bounded, to stay linear. */
const VARIED = '(?=[a-z_-]{0,42}[A-Z0-9])'

/** Constants in capitals have neither digits nor small letters, but keys written in capitals have. */
const VARIED_CAPITALS = '(?=[A-Z_-]{0,42}[a-z0-9])'
/** Names in snake_case may have digits. */
const CAPITALISED = '(?=[a-z0-9_-]{0,42}[A-Z])'
/** The rest of an API key, also with a character too few or too many. Random tokens are longer. */
const REST_OF_KEY = '[\\w-]{42,44}(?![\\w-])'
/** Before a word, which in JSON text may follow an escape. */
const WORD = '(?:(?<![\\w-])|(?<=\\\\[bfnrt]))'

/** API keys of Toolyard: also in capitals, and without the first letter or with another one. */
export const API_KEY_FORMATS: readonly string[] = [
  `(?:ty|Ty|tY)_${VARIED}${REST_OF_KEY}`,
  `TY_${VARIED_CAPITALS}${REST_OF_KEY}`,
  `${WORD}[\\w-]?y_${CAPITALISED}${REST_OF_KEY}`,
  `${WORD}[\\w-]?Y_${VARIED_CAPITALS}${REST_OF_KEY}`,
]

/** Well-known formats of credentials. Linear time, because the text is untrusted. */
const TOKEN_FORMATS = [
  '\\bty_[A-Za-z0-9_-]{8,}',
  ...API_KEY_FORMATS,
  // A whole key, also glued to other characters. Words in names such as city_weather have no digits or capitals.
  `(?:ty|Ty|tY)_${VARIED}[A-Za-z0-9_-]{43,}`,
  `TY_${VARIED_CAPITALS}[A-Za-z0-9_-]{43,}`,
  // Also without its first letter. Nearly all keys have letters of both sizes and digits.
  '[yY]_(?=[\\w-]{0,42}[A-Z])(?=[\\w-]{0,42}[a-z])(?=[\\w-]{0,42}[0-9])[\\w-]{43,}',
  '\\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}',
  // Not after "-": otherwise a row of "eyJ-" takes quadratic time.
  '(?<![\\w-])eyJ[\\w-]{7,}\\.[\\w-]+\\.[\\w-]+',
  `(?:sk|pk|rk)[-_]${VARIED}[A-Za-z0-9_-]{40,}`,
  'AKIA[0-9A-Z]{16}',
  'AIza[\\w-]{30,}',
  'ya29\\.[\\w-]{10,}',
  '\\b(?:gh[pousr]|github_pat|hf|npm)_\\w{20,}',
  `(?:gh[pousr]|github_pat|hf|npm)_${VARIED}\\w{30,}`,
  'glpat-[\\w-]{16,}',
  'xox[abprs]-[\\w-]{10,}',
  '\\bSG\\.[\\w-]{16,}\\.[\\w-]{16,}',
]
const PRIVATE_KEY = '-----BEGIN [A-Z ]*PRIVATE KEY-----'
const FORMATS = [...TOKEN_FORMATS, `${PRIVATE_KEY}[^]*`]
/** Also what stands behind words that announce a secret. */
const SECRET_VALUE = new RegExp(
  [
    ...FORMATS,
    '\\bBearer\\s+[A-Za-z0-9._~+/=-]{8,}',
    '\\bBasic\\s+(?=[a-z+/]*[A-Z0-9])[A-Za-z0-9+/]{8,}={0,2}',
    '(?<=://)[^\\s/@:]{1,256}:[^\\s/@]{1,2048}(?=@)',
    '(?<=(?i:password|passwd|pwd|secret|token|api[-_]?key)["\']?\\s?[=:]\\s?["\']?)[^\\s"\'&,;]{4,}',
  ].join('|'),
  'g',
)
const CREDENTIALS = new RegExp([...FORMATS, '(?<=://)[^\\s/@]{1,2048}(?=@)'].join('|'), 'g')

/** A handler's message without credentials. Other secrets can't be told from what a model needs to know. */
export const withoutCredentials = (text: string): string => text.replace(CREDENTIALS, REDACTED)

/** All that may stand in a JSON text, which stays one. */
const IN_JSON = new RegExp(FORMATS.filter((format) => !format.includes('PRIVATE KEY')).join('|'), 'g')

/** A record of a log, as JSON text, without credentials in its keys, its texts and its message. */
export const redactedRecord = (json: string): string =>
  json.replace(IN_JSON, (found: string, at: number) => (isEscaped(json, at) ? found[0] + REDACTED : REDACTED))

/** Whether a character is the letter of an escape, such as the `t` of a tab. */
function isEscaped(json: string, at: number): boolean {
  let from = at
  while (json[from - 1] === '\\') from--
  return (at - from) % 2 === 1
}

/** The shortest match is `pwd=1234`. */
const MIN_SECRET_LENGTH = 8
const REDACTED = '[redacted]'
const MAX_TEXT = 500
/** Characters after the cut that are searched too, for a secret that spans it. */
const BEHIND_CUT = 200
const LOGGED = { text: MAX_TEXT, entries: 20, values: 200, depth: 5 }
const STORED = { text: 65_536, entries: 10_000, values: 20_000, depth: 64 }

/** A bounded copy for logs and records: long texts are cut, deep and wide parts and media summarised, secrets redacted. */
export function redact(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(boundedJson(value))
}

export function boundedJson(value: unknown): string {
  bounds = LOGGED
  valuesLeft = LOGGED.values
  charactersLeft = Number.POSITIVE_INFINITY
  return write(value, 0)
}

/** JSON text of about `characters` at most, without secrets and media. Says whether a part was left out. */
export function payloadJson(
  value: unknown,
  characters: number,
): { readonly text: string; readonly shortened: boolean } {
  bounds = STORED
  valuesLeft = STORED.values
  charactersLeft = characters
  isCut = false
  return { text: write(value, 0), shortened: isCut }
}

export function redactText(text: string, maxLength = MAX_TEXT): string {
  if (text.length < MIN_SECRET_LENGTH) return text
  const clean = text.slice(0, maxLength + BEHIND_CUT).replace(SECRET_VALUE, REDACTED)
  return text.length > maxLength ? `${clean.slice(0, maxLength)}… (${text.length} characters)` : clean
}

/** Unbounded JSON text without secrets and media. Also redacts inside strings that are JSON themselves. */
export function redactedJson(value: unknown): string {
  return JSON.stringify(value, withoutSecret)
}

/** The same, but numbers stay: the number of tokens is no token. */
export function redactedTexts(value: unknown): string {
  return JSON.stringify(value, (key, given) => (typeof given === 'number' ? given : withoutSecret(key, given)))
}

function withoutSecret(key: string, given: unknown): unknown {
  if (knownKey(key).secret) return REDACTED
  const value = withoutMedia(given)
  if (typeof value !== 'string') return value
  if (!/^\s*[[{]/.test(value)) return value.replace(SECRET_VALUE, REDACTED)
  try {
    const inner = parseJson(value, LIMITS.answerDepth)
    const clean = redactedJson(inner)
    // Keeps the formatting of a text without secrets.
    return clean === JSON.stringify(inner) ? value : clean
  } catch {
    return value.replace(SECRET_VALUE, REDACTED)
  }
}

function withoutMedia(value: unknown): unknown {
  const media = readMedia(value)
  return media === undefined ? value : mediaText(media)
}

/** The state of the current text. Module variables, because every logged call uses them. */
let bounds = LOGGED
let valuesLeft = 0
let charactersLeft = 0
let isCut = false

function write(value: unknown, depth: number): string {
  valuesLeft--
  if (typeof value === 'string') return writeText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const isArray = Array.isArray(value)
  if (depth >= bounds.depth || valuesLeft <= 0 || charactersLeft <= 0) {
    isCut = true
    return isArray ? `"[${value.length} entries]"` : '"{…}"'
  }
  if (isArray) return writeArray(value, depth)
  const shown = withoutMedia(value)
  return typeof shown === 'string' ? write(shown, depth) : writeObject(value as Record<string, unknown>, depth)
}

function writeText(value: string): string {
  const most = Math.max(0, Math.min(bounds.text, charactersLeft))
  if (value.length > most) isCut = true
  charactersLeft -= Math.min(value.length, most) + 2
  return JSON.stringify(redactText(value, most))
}

function writeArray(values: readonly unknown[], depth: number): string {
  let text = ''
  let at = 0
  for (; at < values.length && at < bounds.entries && (at === 0 || hasRoom()); at++) {
    text += `${at === 0 ? '' : ','}${write(values[at], depth + 1)}`
    charactersLeft--
  }
  if (at < values.length) {
    isCut = true
    text += `,"… ${values.length - at} more"`
  }
  return `[${text}]`
}

function writeObject(object: Readonly<Record<string, unknown>>, depth: number): string {
  let text = ''
  let entries = 0
  let left = 0
  for (const key of Object.keys(object)) {
    const value = object[key]
    if (value === undefined) continue
    if (entries >= bounds.entries || (entries > 0 && !hasRoom())) {
      left++
      continue
    }
    const { name, secret } = knownKey(key)
    charactersLeft -= name.length + 2
    text += `${++entries === 1 ? '' : ','}${name}:${secret ? `"${REDACTED}"` : write(value, depth + 1)}`
  }
  if (left > 0) {
    isCut = true
    text += `,"…":"${left} more"`
  }
  return `{${text}}`
}

/** Logged texts go on to the last entry, as they always did. */
const hasRoom = (): boolean => bounds === LOGGED || (charactersLeft > 0 && valuesLeft > 0)

interface KnownKey {
  /** The redacted key as JSON text. */
  readonly name: string
  readonly secret: boolean
}

/** Testing a key or a name costs more than writing its value, and calls repeat them. */
const knownKeys = new Map<string, KnownKey>()
const MAX_KNOWN_KEYS = 1_000
const MAX_KNOWN_KEY_LENGTH = 64

export function knownKey(key: string): KnownKey {
  let known = knownKeys.get(key)
  if (known === undefined) {
    known = { name: JSON.stringify(redactText(key)), secret: SECRET_KEY.test(key) }
    if (key.length <= MAX_KNOWN_KEY_LENGTH && knownKeys.size < MAX_KNOWN_KEYS) knownKeys.set(key, known)
  }
  return known
}
