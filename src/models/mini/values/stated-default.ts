const STATED = /\bdefaults?(?: value)?(?: is| to|:|=)\s*(?:['"‘“]([^'"’”]{1,60})['"’”]|(-?\d+(?:\.\d+)?|true|false)\b)/i

/** What a description says is taken where nothing is said. */
export function statedDefault(description: string): unknown {
  const found = STATED.exec(description)
  if (found === null) return undefined
  const [, quoted, plain = ''] = found
  return quoted ?? JSON.parse(plain.toLowerCase())
}
