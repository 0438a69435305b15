import { isDeep } from '../core/json-depth.ts'

/** The longest line a child may send, and so the largest result: what our process can read without others waiting. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024

/** How deep a message may be nested. */
export const MAX_MESSAGE_DEPTH = 1000

/** How many reports and log lines one call may send, and how long one may be; the child drops the rest. */
export const MAX_NOTES = 1000
export const MAX_NOTE_CHARACTERS = 4 * 1024

/** What the parent bears from one call before it ends the process: only a child that goes round its own bounds gets there. */
export const MAX_CALL_MESSAGES = 2 * MAX_NOTES
export const MAX_CALL_BYTES = 16 * MAX_MESSAGE_BYTES

export const MAX_ERROR_CHARACTERS = 2000

/** A call that ended before its handler could say how: of a write, the executor then says that it may have happened. */
export const MAY_HAVE_HAPPENED = { outcome: 'unknown' } as const

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** One call as it goes to the child. */
export interface CallMessage {
  readonly id: number
  readonly module: string
  readonly export: string
  readonly params: unknown
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  /** The levels that somebody listens to. */
  readonly levels: readonly LogLevel[]
}

/** What a child is told: to do a call, or to load a module that the next one may need. */
export type ParentMessage = CallMessage | { readonly prepare: string }

/** What a child says, each as one line of JSON; `retire` asks for the end of a process that is no longer clean. */
export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly id: number; readonly value?: unknown; readonly retire?: boolean }
  | {
      readonly type: 'failed'
      readonly id: number
      readonly message: string
      readonly code?: string
      readonly retire?: boolean
      /** Where the handler did not fail itself: its result was of no use, or something went wrong beside it. */
      readonly outcome?: 'unknown'
      /** For the operator's log only: may hold paths. */
      readonly detail?: string
    }
  | { readonly type: 'report'; readonly id: number; readonly progress?: unknown }
  | {
      readonly type: 'log'
      readonly id: number
      readonly level: LogLevel
      readonly fields: object
      readonly message: string
    }

/** What a line from a child means; undefined where it means nothing: the child's own code may have written it. */
export function readMessage(line: string): ChildMessage | undefined {
  let message: ChildMessage
  if (isDeep(line, MAX_MESSAGE_DEPTH)) return undefined
  try {
    message = JSON.parse(line)
  } catch {
    return undefined
  }
  if (message === null || typeof message !== 'object') return undefined
  switch (message.type) {
    case 'ready':
    case 'done':
    case 'report':
      return message
    case 'failed':
      return typeof message.message === 'string' ? message : undefined
    case 'log':
      return LOG_LEVELS.includes(message.level) && typeof message.message === 'string' ? message : undefined
    default:
      return undefined
  }
}

/** What of a thrown value crosses the border between processes. */
export interface Thrown {
  readonly message: string
  readonly code?: string
}

const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

/** Whether a code looks like one of ours or of the system's, such as `RATE_LIMITED` or `ENOENT`. */
export const isCode = (code: unknown): code is string => typeof code === 'string' && CODE.test(code)

/** Reads a thrown value, whatever it is, without trusting it to be an error. */
export function thrown(error: unknown): Thrown {
  try {
    const { message, code } = Object(error) as { message?: unknown; code?: unknown }
    const text = typeof message === 'string' ? message : String(error)
    return { message: text.slice(0, MAX_ERROR_CHARACTERS), ...(isCode(code) ? { code } : {}) }
  } catch {
    return { message: 'the handler threw a value that cannot be shown' }
  }
}

const NEWLINE = 10

/** Cuts a stream of bytes into lines, and holds no more than one line's worth of them. */
export class LineReader {
  readonly #limit: number
  readonly #onLine: (line: string) => void
  readonly #onTooLong: () => void
  #parts: Buffer[] = []
  #held = 0
  #stopped = false

  constructor(limit: number, onLine: (line: string) => void, onTooLong: () => void) {
    this.#limit = limit
    this.#onLine = onLine
    this.#onTooLong = onTooLong
  }

  push(chunk: Buffer): void {
    let from = 0
    let end = chunk.indexOf(NEWLINE)
    while (!this.#stopped && end !== -1) {
      if (this.#hold(end - from)) this.#onLine(this.#take(chunk.subarray(from, end)))
      from = end + 1
      end = chunk.indexOf(NEWLINE, from)
    }
    if (!this.#stopped && from < chunk.length && this.#hold(chunk.length - from)) this.#parts.push(chunk.subarray(from))
  }

  /** Lets go of what is held; whatever still comes is not looked at. */
  stop(): void {
    this.#stopped = true
    this.#parts = []
    this.#held = 0
  }

  /** Counts bytes of the line that is being read; false where they are too many. */
  #hold(bytes: number): boolean {
    this.#held += bytes
    if (this.#held <= this.#limit) return true
    this.stop()
    this.#onTooLong()
    return false
  }

  #take(last: Buffer): string {
    const line = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])
    this.#parts = []
    this.#held = 0
    return line.toString('utf8')
  }
}
