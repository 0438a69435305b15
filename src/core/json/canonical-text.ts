/** JSON text with sorted keys: equal values have equal text. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  const object = value as Record<string, unknown>
  const keys = Object.keys(object)
  if (isPlain(object, keys)) return JSON.stringify(object)
  let text = ''
  for (const key of keys.sort()) {
    text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${canonicalText(object[key])}`
  }
  return text === '' ? '{}' : `${text}}`
}

/** Most parameters are: a flat object with sorted keys, whose text is canonical as it is. */
function isPlain(object: Values, keys: readonly string[]): boolean {
  if (keys.length === 0 || Object.getPrototypeOf(object) !== Object.prototype) return false
  let before = ''
  for (const key of keys) {
    const value = object[key]
    const isFlat = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (!isFlat || key < before) return false
    before = key
  }
  return true
}

/** Whether all items differ, in linear time. */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  const seen = new Set<unknown>()
  for (const item of items) {
    // Numbers and booleans are their own keys; the text of a string starts with a quote.
    seen.add(typeof item === 'number' || typeof item === 'boolean' ? item : canonicalText(item))
  }
  return seen.size === items.length
}

/** Whether two JSON values are equal. Stops at the first difference. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every((name) => {
    return Object.hasOwn(other, name) && sameJson((one as Values)[name], (other as Values)[name])
  })
}

type Values = Readonly<Record<string, unknown>>
