import type { HandlerContext } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import { type CallMessage, type ChildMessage, type LogLevel, MAX_NOTE_CHARACTERS, MAX_NOTES } from './protocol.ts'

/** One call inside the child: the context its handler sees, and the bounded way back to the parent. */
export class ChildCall {
  readonly id: number
  readonly context: HandlerContext
  readonly #send: (message: ChildMessage) => void
  readonly #levels: ReadonlySet<string>
  #notes = 0

  constructor(call: CallMessage, send: (message: ChildMessage) => void) {
    this.id = call.id
    this.#send = send
    this.#levels = new Set(call.levels)
    this.context = {
      // Nothing ever aborts it: a call that is over ends with its process.
      signal: new AbortController().signal,
      tenant: call.tenant,
      flags: call.flags,
      report: (progress) => this.#note({ type: 'report', id: this.id, progress }),
      log: this.#log(),
    }
  }

  /** Something the handler printed. */
  output(stream: string, text: string): void {
    for (const line of text.split('\n')) if (line !== '') this.#write('debug', { stream }, line)
  }

  #log(): Log {
    const at = (level: LogLevel) => (fields: object, message: string) => this.#write(level, fields, message)
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      isLevelEnabled: (level) => this.#levels.has(level),
    }
  }

  #write(level: LogLevel, fields: object, message: string): void {
    if (!this.#levels.has(level)) return
    this.#note({ type: 'log', id: this.id, level, fields, message: String(message).slice(0, MAX_NOTE_CHARACTERS / 2) })
  }

  /** A note never fails the call: what is too much, too long or no JSON is dropped. */
  #note(message: ChildMessage): void {
    if (this.#notes >= MAX_NOTES) return
    try {
      if (JSON.stringify(message).length > MAX_NOTE_CHARACTERS) return
    } catch {
      return
    }
    this.#notes++
    this.#send(message)
  }
}
