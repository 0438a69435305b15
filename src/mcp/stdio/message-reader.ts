import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/client'
import { isDeep, withoutDeepParts } from '../../core/json/json-depth.ts'
import { LineReader } from '../../core/line-reader.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { LIMITS } from '../../core/snapshot.ts'
import { crowding, LISTS } from '../crowding.ts'

const INTERNAL_ERROR = -32_603

/** The largest message that a server may send. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024

/** The `data` of the error for a response over the limit. Random, so no server can forge it. */
const TOO_LARGE = { too_large: randomUUID() }

type Id = string | number

/** The error that a request gets in place of a response over a limit. */
export function tooLargeAnswer(id: Id, what = `more than ${MAX_MESSAGE_BYTES} bytes`): JSONRPCErrorResponse {
  const message = `The server answered with ${what}, which is over the limit`
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message, data: TOO_LARGE } }
}

function deepAnswer(id: Id): JSONRPCErrorResponse {
  const message = `The server answered with JSON that is nested deeper than ${LIMITS.answerDepth} levels`
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } }
}

/** The key that stands for an entry of a list that is nested too deeply. Its value is the name of the entry. */
export const TOO_DEEP = 'toolyard/too-deep'

/** What a request gets in place of an answer that is nested too deeply: a list without the deep parts, or an error. */
function shallowAnswer(id: Id, text: string): JSONRPCMessage {
  const cut = randomUUID()
  const isCut = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.values(value).some(isCut) : value === cut
  try {
    const { result } = JSON.parse(withoutDeepParts(text, LIMITS.answerDepth, JSON.stringify(cut)))
    const parts = Object.entries(Object(result) as Record<string, unknown>).map(([key, part]): [string, unknown] => {
      if (!LISTS.has(key) || !Array.isArray(part)) return [key, part]
      return [key, part.map((entry) => (isCut(entry) ? { [TOO_DEEP]: Object(entry).name } : entry))]
    })
    const answer = { jsonrpc: '2.0' as const, id, result: Object.fromEntries(parts) }
    return isCut(answer) || !parts.some(([key]) => LISTS.has(key)) ? deepAnswer(id) : answer
  } catch {
    return deepAnswer(id)
  }
}

export function isTooLarge(error: unknown): boolean {
  const data = error instanceof Error && 'data' in error ? error.data : undefined
  return isObject(data) && data.too_large === TOO_LARGE.too_large
}

const MAX_BATCH = 1_000
/** Shorter texts can't be too deep or have too many entries. */
const NEVER_REFUSED = 2 * LIMITS.answerDepth

/** Messages that the SDK can check: the given ones, or the errors that their requests get instead; undefined for none. */
function checked(messages: readonly JSONRPCMessage[]): readonly (JSONRPCMessage | undefined)[] {
  const problem = crowding(messages)
  if (problem === undefined) return messages
  return messages.map((message) => {
    const id = 'method' in message ? undefined : message.id
    return id === undefined || id === null ? undefined : tooLargeAnswer(id, problem)
  })
}

/** The text of a message, or of the error that its request gets instead; undefined if it answers no request. */
export function checkedText(text: string): string | undefined {
  if (text.length < NEVER_REFUSED) return text
  if (isDeep(text, LIMITS.answerDepth)) {
    const id = answeredBy(Buffer.from(text))
    return id === undefined ? undefined : checkedText(JSON.stringify(shallowAnswer(id, text)))
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  if (Array.isArray(value) && value.length > MAX_BATCH) return undefined
  if (typeof value !== 'object' || value === null) return text
  const messages: JSONRPCMessage[] = Array.isArray(value) ? value : [value]
  const kept = checked(messages)
  if (kept === messages) return text
  const left = kept.filter((one) => one !== undefined)
  return left.length === 0 ? undefined : JSON.stringify(left.length === 1 ? left[0] : left)
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

function answeredBy(bytes: Buffer): Id | undefined {
  const scanner = new AnswerScanner()
  scanner.push(bytes)
  return scanner.answers
}

const SHOWN_BYTES = 1024

interface MessageEvents {
  message(message: JSONRPCMessage): void
  /** `text`: the beginning of the output. Its size is unknown while it is still being read. */
  noise(what: string, text: string, bytes?: number): void
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
      this.#noise('a line that is not a JSON-RPC message', text, bytes)
      return
    }
    if (text.includes('\ufffd') && !isUtf8(bytes)) {
      this.#noise('a message that is not valid UTF-8', text, bytes)
    }
    for (const usable of text.length < NEVER_REFUSED ? messages : checked(messages)) {
      if (usable !== undefined) this.#events.message(usable)
      else this.#noise('a message with too many entries', text, bytes)
    }
  }

  /** Doesn't parse what is deeply nested in a line. If it answers a request, the request fails at once, unless it asks for a list. */
  #skipDeep(bytes: Buffer, text: string): void {
    this.#noise(`a line that is nested deeper than ${LIMITS.answerDepth} levels`, text, bytes)
    const id = answeredBy(bytes)
    if (id !== undefined) for (const one of checked([shallowAnswer(id, text)])) if (one) this.#events.message(one)
  }

  #noise(what: string, text: string, bytes: Buffer): void {
    this.#events.noise(what, text.slice(0, SHOWN_BYTES), bytes.length)
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
    this.#events.message(tooLargeAnswer(id, `more than ${this.#limit} bytes`))
  }
}

/** Parses the message of a line, or the batch that one version of the protocol allows. */
function readMessages(text: string): JSONRPCMessage[] | undefined {
  // A SyntaxError is expensive, and noise could cause tens of thousands of them.
  if (!text.includes('"jsonrpc"')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const messages = Array.isArray(value) ? value : [value]
    const fits = messages.length > 0 && messages.length <= MAX_BATCH
    return fits && messages.every(isMessage) ? messages : undefined
  } catch {
    return undefined
  }
}

/** Distinguishes messages from log lines; the SDK checks the rest. */
function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null || !('jsonrpc' in value) || value.jsonrpc !== '2.0') return false
  return 'method' in value || 'result' in value || 'error' in value
}
