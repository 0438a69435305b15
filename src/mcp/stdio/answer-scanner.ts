const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Whitespace, and the three bytes of a byte order mark. */
const BEFORE = [0x20, 0x09, 0x0d, 0xef, 0xbb, 0xbf]

/** Longer than any name that matters here, and than any id that we send. */
const MAX_TOKEN = 256

/**
 * Finds out which request a JSON-RPC message answers while the message goes by: it reads the names of the outermost
 * object and its `id`, wherever that stands, and keeps nothing else.
 */
export class AnswerScanner {
  #id: string | number | undefined
  #isAnswer = false
  #isRequest = false
  #isOver = false
  #depth = 0
  #inString = false
  #escaped = false
  /** The name whose value is being read; undefined while a name is. */
  #name: string | undefined
  #token = ''

  /** The id of the request that is answered, as soon as it is known. */
  get answers(): string | number | undefined {
    return this.#isAnswer && !this.#isRequest ? this.#id : undefined
  }

  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && !this.#isOver) {
      if (this.#inString) at = this.#passString(bytes, at)
      else if (this.#depth > 1) at = this.#passDepths(bytes, at)
      else this.#readOutermost(bytes[at++] as number)
    }
  }

  #passString(bytes: Buffer, from: number): number {
    let at = from
    let [escaped, inString] = [this.#escaped, true]
    for (; at < bytes.length && inString; at++) {
      const byte = bytes[at]
      if (escaped) escaped = false
      else if (byte === BACKSLASH) escaped = true
      else if (byte === QUOTE) inString = false
    }
    this.#escaped = escaped
    this.#inString = inString
    if (this.#depth === 1) this.#keep(bytes.toString('latin1', from, Math.min(at, from + MAX_TOKEN + 1)))
    return at
  }

  /** Passes what lies deeper than the outermost object, up to the next string. */
  #passDepths(bytes: Buffer, from: number): number {
    let at = from
    let [depth, inString] = [this.#depth, false]
    for (; at < bytes.length && depth > 1 && !inString; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) inString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
    }
    this.#depth = depth
    this.#inString = inString
    return at
  }

  #readOutermost(byte: number): void {
    if (this.#depth === 0) {
      if (byte === OPEN_BRACE) this.#depth = 1
      else this.#isOver = !BEFORE.includes(byte)
    } else if (byte === COLON) {
      this.#endName()
    } else if (byte === COMMA || byte === CLOSE_BRACE) {
      this.#endValue()
      this.#isOver = byte === CLOSE_BRACE
    } else {
      this.#keep(String.fromCharCode(byte))
      this.#inString = byte === QUOTE
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++
    }
  }

  /** One character too many makes the token unreadable, as it should be. */
  #keep(characters: string): void {
    if (this.#token.length <= MAX_TOKEN && (this.#name === undefined || this.#name === 'id')) this.#token += characters
  }

  #endName(): void {
    const name = this.#takeToken()
    this.#name = String(name)
    this.#isAnswer ||= name === 'result' || name === 'error'
    this.#isRequest ||= name === 'method'
  }

  #endValue(): void {
    const value = this.#takeToken()
    if (this.#name === 'id' && (typeof value === 'string' || typeof value === 'number')) this.#id = value
    this.#name = undefined
  }

  #takeToken(): unknown {
    const token = this.#token
    this.#token = ''
    try {
      return token.length > MAX_TOKEN ? undefined : JSON.parse(Buffer.from(token, 'latin1').toString('utf8'))
    } catch {
      return undefined
    }
  }
}
