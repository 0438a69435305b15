/** A copy of plain JSON that is already known to be harmless: no checks, no bounds. */
export function copyPlain<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyPlain) as Value
  const copy = { ...value }
  for (const key in copy) {
    const one = copy[key]
    if (typeof one === 'object' && one !== null) copy[key] = copyPlain(one)
  }
  return copy
}
