const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [QUOTE, BACKSLASH] = [0x22, 0x5c]

/** JSON text that was rejected, before parsing, because it is nested too deeply. */
export class DeepJsonError extends SyntaxError {
  constructor(limit: number) {
    super(`nested deeper than ${limit} levels`)
    this.name = 'DeepJsonError'
  }
}

/** `JSON.parse` for untrusted text: throws a DeepJsonError if it is nested deeper than `limit`. */
export function parseJson(text: string, limit: number): unknown {
  if (isDeep(text, limit)) throw new DeepJsonError(limit)
  return JSON.parse(text)
}

/** `JSON.parse` blocks for 0.2 s on 1 MB of brackets, and for seconds on a few megabytes. */
export function isDeep(text: string, limit: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > limit) return true
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
  }
  return false
}

/** A result as text: a string unchanged, anything else as JSON. */
export const asText = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result))
