/** Which keys are kept: a name, and what of the value behind it; nothing further where it is kept whole. */
type Kept = ReadonlyMap<string, Kept | undefined>

/**
 * Keeps the named keys of an object, or of each object of a list; whatever else it is stays as it is. `a.b` keeps `b` of
 * what stands under `a`, and is also looked for as a key of its own.
 */
export function picker(names: readonly string[]): (value: unknown) => unknown {
  const kept = new Map<string, Kept | undefined>()
  for (const name of names) {
    kept.set(name, undefined)
    if (name.includes('.')) add(kept, name.split('.'))
  }
  return (value) => keep(value, kept)
}

function add(kept: Map<string, Kept | undefined>, path: readonly string[]): void {
  const [name = '', ...rest] = path
  if (kept.has(name) && kept.get(name) === undefined) return
  if (rest.length === 0) {
    kept.set(name, undefined)
    return
  }
  const below = new Map(kept.get(name))
  add(below, rest)
  kept.set(name, below)
}

function keep(value: unknown, kept: Kept): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => keep(one, kept))
  const entries: [string, unknown][] = []
  for (const [name, below] of kept) {
    if (!Object.hasOwn(value, name)) continue
    const one = (value as Record<string, unknown>)[name]
    entries.push([name, below === undefined ? one : keep(one, below)])
  }
  // Defines each key, also one called `__proto__`.
  return Object.fromEntries(entries)
}
