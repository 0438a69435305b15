import { parseJson } from './json-depth.ts'
import { LIMITS } from './snapshot.ts'

const SECRET_KEY =
  /pass(word|wd|phrase|code)|pwd|secret|token|(api|access|private)[-_]?key|authorization|credential|cookie|^auth$|^bearer$/i

/**
 * What keys and tokens of well-known services look like, and what stands before a secret in a text. Texts come from
 * strangers: what could be tried over and over again is bounded.
 */
const SECRET_VALUE = new RegExp(
  [
    '\\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}',
    '\\bBearer\\s+[A-Za-z0-9._~+/=-]{8,}',
    '\\bBasic\\s+(?=[a-z+/]*[A-Z0-9])[A-Za-z0-9+/]{8,}={0,2}',
    '\\beyJ[\\w-]{7,4000}\\.[\\w-]+\\.[\\w-]+',
    '\\bAKIA[0-9A-Z]{16}\\b',
    '\\bAIza[\\w-]{30,}',
    '\\bya29\\.[\\w-]{10,}',
    '\\b(?:gh[pousr]|github_pat|hf|npm)_\\w{20,}',
    '\\bglpat-[\\w-]{16,}',
    '\\bxox[abprs]-[\\w-]{10,}',
    '\\bSG\\.[\\w-]{16,}\\.[\\w-]{16,}',
    '-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*',
    '(?<=://)[^\\s/@:]{1,256}:[^\\s/@]{1,2048}(?=@)',
    '(?<=(?i:password|passwd|pwd|secret|token|api[-_]?key)["\']?\\s?[=:]\\s?["\']?)[^\\s"\'&,;]{4,}',
  ].join('|'),
  'g',
)
const REDACTED = '[redacted]'
const LONGEST_TEXT = 500
/** So much behind a cut is looked at as well, for a secret that the cut goes through. */
const BEHIND_CUT = 200
const MOST_ENTRIES = 20
const MOST_VALUES = 200
const DEEPEST = 5

/** A bounded copy fit for a log: long texts cut, deep and wide parts summed up, secrets taken out. */
export function redact(value: unknown): unknown {
  return copy(value, 0, { left: MOST_VALUES })
}

/** A text without what looks like a key or a token, and not longer than a log line should be. */
export function redactText(text: string, longest = LONGEST_TEXT): string {
  const clean = text.slice(0, longest + BEHIND_CUT).replace(SECRET_VALUE, REDACTED)
  return text.length > longest ? `${clean.slice(0, longest)}… (${text.length} characters)` : clean
}

/** A value as JSON text: whole, but for what looks like a secret, also where a text is JSON itself. */
export function redactedJson(value: unknown): string {
  return JSON.stringify(value, withoutSecret)
}

function withoutSecret(key: string, value: unknown): unknown {
  if (SECRET_KEY.test(key)) return REDACTED
  if (typeof value !== 'string') return value
  if (!/^\s*[[{]/.test(value)) return value.replace(SECRET_VALUE, REDACTED)
  try {
    const inner = parseJson(value, LIMITS.answerDepth)
    const clean = redactedJson(inner)
    // Where there was nothing to take out the text stays as it was written.
    return clean === JSON.stringify(inner) ? value : clean
  } catch {
    return value.replace(SECRET_VALUE, REDACTED)
  }
}

function copy(value: unknown, depth: number, budget: { left: number }): unknown {
  budget.left--
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEEPEST || budget.left <= 0) return Array.isArray(value) ? `[${value.length} entries]` : '{…}'
  if (Array.isArray(value)) {
    const kept = value.slice(0, MOST_ENTRIES).map((one) => copy(one, depth + 1, budget))
    if (value.length > MOST_ENTRIES) kept.push(`… ${value.length - MOST_ENTRIES} more`)
    return kept
  }
  const kept: [string, unknown][] = []
  let more = 0
  for (const [key, one] of Object.entries(value)) {
    if (kept.length >= MOST_ENTRIES) more++
    else kept.push([redactText(key), SECRET_KEY.test(key) ? REDACTED : copy(one, depth + 1, budget)])
  }
  if (more > 0) kept.push(['…', `${more} more`])
  return Object.fromEntries(kept)
}
