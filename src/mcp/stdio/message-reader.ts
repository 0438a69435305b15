import { isUtf8 } from 'node:buffer'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isDeep } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import { AnswerScanner } from './answer-scanner.ts'
import { LineReader } from './line-reader.ts'
import { deepAnswer, tooLargeAnswer } from './too-large.ts'

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
