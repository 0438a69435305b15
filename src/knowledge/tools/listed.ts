/** What a model lists, as texts: each once, in order, without what is empty. Undefined where it is no list. */
export function listed(value: unknown): string[] | undefined {
  if (value === null) return []
  const list = typeof value === 'string' ? value.split(/[,;\n]/) : value
  if (!Array.isArray(list)) return undefined
  const texts = new Map<string, string>()
  for (const one of list) {
    const text = textOf(one)
    if (text !== '' && !texts.has(text.toLowerCase())) texts.set(text.toLowerCase(), text)
  }
  return [...texts.values()]
}

/** Models like to make an object of what was asked for as a text. */
function textOf(one: unknown): string {
  if (typeof one === 'string') return one.trim()
  if (typeof one === 'number') return String(one)
  const { name, text } = Object(one) as Record<string, unknown>
  return typeof name === 'string' ? name.trim() : typeof text === 'string' ? text.trim() : ''
}
