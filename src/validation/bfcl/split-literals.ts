const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Cuts a text at every separator that stands in no quotes and in no brackets; a part may be empty only between two. */
export function splitLiterals(text: string, separator = ','): string[] {
  const parts: string[] = []
  const open: string[] = []
  let quote: string | undefined
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\\') at++
    else if (quote !== undefined) quote = character === quote ? undefined : quote
    else if (character === '"' || character === "'") quote = character
    else if (CLOSING[character] !== undefined) open.push(CLOSING[character])
    else if (character === open.at(-1)) open.pop()
    else if (character === separator && open.length === 0) {
      parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  const last = text.slice(start).trim()
  return last === '' ? parts : [...parts, last]
}

/** The text between its quotes; undefined where it has none. */
export function unquoted(text: string): string | undefined {
  const quote = text[0]
  if ((quote !== '"' && quote !== "'") || text.length < 2 || text.at(-1) !== quote) return undefined
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1')
}
