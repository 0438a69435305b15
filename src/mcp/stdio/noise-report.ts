import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { redactText } from '../../core/redact.ts'
import { cleanText } from './clean-text.ts'

const MOST_REPORTS = 20
const WINDOW_MS = 10_000
const LONGEST_TEXT = 500

/** Says what a server wrote where it should not have: clean, bounded, and not without end. */
export class NoiseReport {
  readonly #command: string
  readonly #log: Log
  readonly #onNoise: ((text: string) => void) | undefined
  readonly #clock: Clock
  #since: number
  #reports = 0

  constructor(command: string, log: Log, onNoise: ((text: string) => void) | undefined, clock: Clock) {
    this.#command = command
    this.#log = log
    this.#onNoise = onNoise
    this.#clock = clock
    this.#since = clock.now()
  }

  /** `what` is ours, `content` the server's. */
  say(what: string, content: string): void {
    if (this.#clock.now() - this.#since >= WINDOW_MS) this.#beginAnew()
    if (++this.#reports > MOST_REPORTS) return
    const text = redactText(cleanText(content), LONGEST_TEXT)
    writeLog(this.#log, 'warn', { command: this.#command, text }, `The MCP server wrote ${what}`)
    try {
      this.#onNoise?.(text)
    } catch {
      // Who listens may fail; reading goes on.
    }
  }

  #beginAnew(): void {
    const left = this.#reports - MOST_REPORTS
    this.#since = this.#clock.now()
    this.#reports = 0
    if (left <= 0) return
    const message = `The MCP server wrote ${left} more lines of that sort, which are not shown`
    writeLog(this.#log, 'warn', { command: this.#command }, message)
  }
}
