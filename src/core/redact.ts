const SECRET_KEY =
  /pass(word|wd|phrase)|secret|token|api[-_]?key|authorization|credential|cookie|private[-_]?key|^auth$/i
const SECRET_VALUE =
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[\w-]{10,}/g
const REDACTED = '[redacted]'
const LONGEST_TEXT = 500
const MOST_ENTRIES = 20
const MOST_VALUES = 200
const DEEPEST = 5

/** A bounded copy fit for a log: long texts cut, deep and wide parts summed up, secrets taken out. */
export function redact(value: unknown): unknown {
  return copy(value, 0, { left: MOST_VALUES })
}

/** A text without what looks like a key or a token, and not longer than a log line should be. */
export function redactText(text: string): string {
  // Cut first: a secret that the cut goes through is still recognised by its beginning.
  const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}… (${text.length} characters)` : text
  return cut.replace(SECRET_VALUE, REDACTED)
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
