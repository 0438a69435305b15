import { isUtf8 } from 'node:buffer'
import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/client'
import { isDeep } from '../../core/json-depth.ts'
import { LineReader } from '../../core/line-reader.ts'
import { LIMITS } from '../../core/snapshot.ts'

const INTERNAL_ERROR = -32_603

/** The `data` of the error for a response over the limit. Compared by identity, so no server can forge it. */
const TOO_LARGE: { readonly too_large: true } = Object.freeze({ too_large: true })

function tooLargeAnswer(id: string | number, limit: number): JSONRPCErrorResponse {
  const message = `The server answered with more than ${limit} bytes, which is over the limit`
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message, data: TOO_LARGE } }
}

function deepAnswer(id: string | number, limit: number): JSONRPCErrorResponse {
  const message = `The server answered with JSON that is nested deeper than ${limit} levels`
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } }
}

export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'data' in error && error.data === TOO_LARGE
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Whitespace, and the three bytes of a byte order mark. */
const BEFORE = [0x20, 0x09, 0x0d, 0xef, 0xbb, 0xbf]

/** Longer than any relevant name and any id that Toolyard sends. */
const MAX_TOKEN = 256

/** Finds the request that a streamed JSON-RPC message answers. Stores only the outermost names and the `id`. */
export class AnswerScanner {
  #id: string | number | undefined
  #isAnswer = false
  #isRequest = false
  #isOver = false
  #depth = 0
  #inString = false
  #escaped = false
  /** The name of the value being read; undefined while reading a name. */
  #name: string | undefined
  #token = ''

  /** The id of the answered request, once known. */
  get answers(): string | number | undefined {
    return this.#isAnswer && !this.#isRequest ? this.#id : undefined
  }

  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && !this.#isOver) {
      if (this.#inString) at = this.#skipString(bytes, at)
      else if (this.#depth > 1) at = this.#skipNested(bytes, at)
      else this.#readOutermost(bytes[at++] as number)
    }
  }

  #skipString(bytes: Buffer, from: number): number {
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
    if (this.#depth === 1) this.#store(bytes.toString('latin1', from, Math.min(at, from + MAX_TOKEN + 1)))
    return at
  }

  /** Skips nested values up to the next string. */
  #skipNested(bytes: Buffer, from: number): number {
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
      this.#store(String.fromCharCode(byte))
      this.#inString = byte === QUOTE
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++
    }
  }

  /** Stores one character more than allowed, which marks the token as too long. */
  #store(characters: string): void {
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

const SHOWN_BYTES = 1024

export interface MessageEvents {
  message(message: JSONRPCMessage): void
  noise(what: string, text: string): void
}

/** Reads the messages of a server and tolerates any other output. */
export class MessageReader {
  readonly #limit: number
  readonly #events: MessageEvents
  readonly #lines: LineReader
  #excess: { readonly scanner: AnswerScanner; answered: boolean } | undefined

  constructor(limit: number, events: MessageEvents) {
    this.#limit = limit
    this.#events = events
    this.#lines = new LineReader(limit, {
      line: (bytes) => this.#readLine(bytes),
      excess: (bytes) => this.#skipExcess(bytes),
      excessEnd: () => {
        this.#excess = undefined
      },
    })
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  /** The last message may have no line break. */
  end(): void {
    this.#lines.end()
  }

  #readLine(bytes: Buffer): void {
    // Also removes a byte order mark and the CR of a CRLF.
    const text = bytes.toString('utf8').trim()
    if (text === '') return
    if (isDeep(text, LIMITS.answerDepth)) {
      this.#skipDeep(bytes, text)
      return
    }
    const messages = readMessages(text)
    if (messages === undefined) {
      this.#events.noise('a line that is not a JSON-RPC message', text.slice(0, SHOWN_BYTES))
      return
    }
    if (text.includes('\ufffd') && !isUtf8(bytes)) {
      this.#events.noise('a message that is not valid UTF-8', text.slice(0, SHOWN_BYTES))
    }
    for (const message of messages) this.#events.message(message)
  }

  /** Doesn't parse a deeply nested line. If it answers a request, the request fails at once. */
  #skipDeep(bytes: Buffer, text: string): void {
    this.#events.noise(`a line that is nested deeper than ${LIMITS.answerDepth} levels`, text.slice(0, SHOWN_BYTES))
    const scanner = new AnswerScanner()
    scanner.push(bytes)
    if (scanner.answers !== undefined) this.#events.message(deepAnswer(scanner.answers, LIMITS.answerDepth))
  }

  #skipExcess(bytes: Buffer): void {
    if (this.#excess === undefined) {
      this.#excess = { scanner: new AnswerScanner(), answered: false }
      this.#events.noise(`a line of more than ${this.#limit} bytes`, bytes.toString('utf8', 0, SHOWN_BYTES))
    }
    this.#excess.scanner.push(bytes)
    const id = this.#excess.scanner.answers
    if (id === undefined || this.#excess.answered) return
    this.#excess.answered = true
    this.#events.message(tooLargeAnswer(id, this.#limit))
  }
}

/** Parses the message of a line, or the batch that one version of the protocol allows. */
function readMessages(text: string): JSONRPCMessage[] | undefined {
  // A SyntaxError is expensive, and noise could cause tens of thousands of them.
  if (!text.includes('"jsonrpc"')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const messages = Array.isArray(value) ? value : [value]
    return messages.length > 0 && messages.every(isMessage) ? messages : undefined
  } catch {
    return undefined
  }
}

/** Distinguishes messages from log lines; the SDK checks the rest. */
function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null || !('jsonrpc' in value) || value.jsonrpc !== '2.0') return false
  return 'method' in value || 'result' in value || 'error' in value
}
