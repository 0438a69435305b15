/**
 * `String(value)` for a value of someone else. Objects become JSON: their `toString` may not be a function, and one in a list
 * may not be either.
 */
export function foreignText(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    return JSON.stringify(value) ?? 'an object'
  } catch {
    return 'an object'
  }
}
