/** The path with the parameter in its query, once: one of the same name gives way. */
export function withQuery(path: string, name: string, value: string | number): string {
  const [before, pairs] = split(path)
  const others = pairs.filter((pair) => nameOf(pair) !== name)
  const own = `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(String(value).toWellFormed())}`
  return `${before}?${[...others, own].join('&')}`
}

/** The number that a parameter in the query of the path has; undefined where there is none. */
export function queryNumber(path: string, name: string): number | undefined {
  const [, pairs] = split(path)
  const found = pairs.find((pair) => nameOf(pair) === name)
  const value = found?.slice(found.indexOf('=') + 1)
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

function split(path: string): [string, string[]] {
  const at = path.indexOf('?')
  if (at === -1) return [path, []]
  const query = path.slice(at + 1)
  return [path.slice(0, at), query === '' ? [] : query.split('&')]
}

function nameOf(pair: string): string {
  const name = (pair.split('=', 1)[0] ?? '').replaceAll('+', ' ')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
