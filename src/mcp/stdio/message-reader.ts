import { isUtf8 } from 'node:buffer'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isDeep } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import { deepAnswer, tooLargeAnswer } from './too-large.ts'

const NEWLINE = 10

/** Pieces of a line are joined when there are so many: one of a few bytes costs far more than its bytes. */
const MOST_PIECES = 1024

interface LineEvents {
  /** A line without its end. */
  line(bytes: Buffer): void
  /** The next piece of a line that is over the bound, from its beginning. */
  excess(bytes: Buffer): void
  /** The end of such a line. */
  excessEnd(): void
}

/** Cuts a stream of bytes into lines. A line over the bound is handed on in pieces, and not kept. */
export class LineReader {
  readonly #limit: number
  readonly #events: LineEvents
  #pieces: Buffer[] = []
  #length = 0

  constructor(limit: number, events: LineEvents) {
    this.#limit = limit
    this.#events = events
  }

  /** Takes the chunk over: it may be empty afterwards. */
  push(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end))
      this.#finish()
      from = end + 1
    }
    if (from < chunk.length) this.#add(chunk.subarray(from))
  }

  /** Takes what is left for a line. */
  end(): void {
    if (this.#length > 0) this.#finish()
  }

  #add(bytes: Buffer): void {
    this.#length += bytes.length
    this.#pieces.push(bytes)
    if (this.#length > this.#limit) {
      for (const piece of this.#pieces.splice(0)) {
        this.#events.excess(piece)
        release(piece)
      }
    } else if (this.#pieces.length > MOST_PIECES) {
      this.#pieces = [Buffer.concat(this.#pieces)]
    }
  }

  #finish(): void {
    const pieces = this.#pieces
    const isExcess = this.#length > this.#limit
    this.#pieces = []
    this.#length = 0
    if (isExcess) this.#events.excessEnd()
    else this.#events.line(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
  }
}

/** Gives memory back at once: the garbage collector would let 30 MB and more of it pile up first. */
function release(bytes: Buffer): void {
  const { buffer } = bytes
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
  if (isWhole) buffer.transfer(0)
}

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

/** As much of a line as can be shown. */
const SHOWN_BYTES = 1024

export interface MessageEvents {
  message(message: JSONRPCMessage): void
  /** Something on the stream that is no message, or not quite one, with the beginning of it. */
  noise(what: string, text: string): void
}

/** Reads the messages of a server, and survives whatever else it writes. */
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
      excess: (bytes) => this.#passExcess(bytes),
      excessEnd: () => {
        this.#excess = undefined
      },
    })
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  /** The stream is over: what is left may be a message whose line was never ended. */
  end(): void {
    this.#lines.end()
  }

  #readLine(bytes: Buffer): void {
    // Takes away a byte order mark and the CR of a CRLF as well.
    const text = bytes.toString('utf8').trim()
    if (text === '') return
    if (isDeep(text, LIMITS.answerDepth)) {
      this.#passDeep(bytes, text)
      return
    }
    const messages = readMessages(text)
    if (messages === undefined) {
      this.#events.noise('a line that is no JSON-RPC message', text.slice(0, SHOWN_BYTES))
      return
    }
    if (text.includes('\ufffd') && !isUtf8(bytes)) {
      this.#events.noise('a message that is not valid UTF-8', text.slice(0, SHOWN_BYTES))
    }
    for (const message of messages) this.#events.message(message)
  }

  /** A deep line isn't parsed. If it answers a request, that fails at once. */
  #passDeep(bytes: Buffer, text: string): void {
    this.#events.noise(`a line that is nested deeper than ${LIMITS.answerDepth} levels`, text.slice(0, SHOWN_BYTES))
    const scanner = new AnswerScanner()
    scanner.push(bytes)
    if (scanner.answers !== undefined) this.#events.message(deepAnswer(scanner.answers, LIMITS.answerDepth))
  }

  #passExcess(bytes: Buffer): void {
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

/** The messages of a line: one, or, in one version of the protocol, a list of them. */
function readMessages(text: string): JSONRPCMessage[] | undefined {
  // A SyntaxError is dear, and a flood of noise would bring tens of thousands of them in one go.
  if (!text.includes('"jsonrpc"')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const messages = Array.isArray(value) ? value : [value]
    return messages.length > 0 && messages.every(isMessage) ? messages : undefined
  } catch {
    return undefined
  }
}

/** Enough to tell a message from a line of a log; the SDK checks the rest. */
function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null || !('jsonrpc' in value) || value.jsonrpc !== '2.0') return false
  return 'method' in value || 'result' in value || 'error' in value
}
