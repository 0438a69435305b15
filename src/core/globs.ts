/** Whether a name matches one of the patterns, in which `*` stands for any characters, or none. */
export const matchesGlobs = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesGlob(pattern, name))

/** Searches for the parts between the stars one after the other, so that the time grows with the lengths only. */
function matchesGlob(pattern: string, name: string): boolean {
  const [first = '', ...between] = pattern.split('*')
  const last = between.pop()
  if (last === undefined) return name === pattern
  const end = name.length - last.length
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const part of between) {
    const found = name.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= end
}
