const UTF8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])
const BYTE_ORDER_MARK = 0xfeff

/** The text of a body, without a byte order mark; undefined where nobody knows its character set. */
export function decodeText(body: Buffer, charset?: string): string | undefined {
  if (charset === undefined || UTF8.has(charset)) {
    const text = body.toString('utf8')
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  }
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return undefined
  }
}
