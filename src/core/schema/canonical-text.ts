/** JSON text in which equal values have equal text: keys are sorted, `-0` is `0`. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  const object = value as Record<string, unknown>
  if (isCanonical(object)) return JSON.stringify(object)
  const entries = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(object[key])}`)
  return `{${entries.join(',')}}`
}

/** Whether plain JSON text is already canonical: no value holds others, and the keys are in order. */
function isCanonical(object: Record<string, unknown>): boolean {
  if (object.constructor !== Object) return false
  let last = ''
  for (const key in object) {
    const one = object[key]
    if (key < last || (typeof one === 'object' && one !== null) || one === undefined) return false
    if (typeof one === 'function' || typeof one === 'symbol') return false
    last = key
  }
  return true
}

/** Whether no two items are equal, in time linear in the length of their text. */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  const seen = new Set<unknown>()
  for (const item of items) {
    // A number or boolean is its own key, and never equals a text; texts of strings start with a quote.
    seen.add(typeof item === 'number' || typeof item === 'boolean' ? item : canonicalText(item))
  }
  return seen.size === items.length
}
