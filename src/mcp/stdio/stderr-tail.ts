import { redactText } from '../../core/redact.ts'
import { cleanText } from './clean-text.ts'

const MAX_LINES = 20
const MAX_CHARACTERS = 4096
/** More than is shown, because control sequences and characters of several bytes go into it. */
const KEPT_BYTES = 4 * MAX_CHARACTERS

/** The last words of a server, whatever the amount of them. */
export class StderrTail {
  #kept: Buffer = Buffer.alloc(0)
  #cut = false

  push(chunk: Buffer): void {
    this.#cut ||= this.#kept.length + chunk.length > KEPT_BYTES
    // Copied, or a short tail would hold the whole of a long chunk.
    this.#kept = Buffer.concat([
      this.#kept.subarray(-Math.max(1, KEPT_BYTES - chunk.length)),
      chunk.subarray(-KEPT_BYTES),
    ])
  }

  /** Bounded, and without control sequences and what looks like a secret. */
  text(): string {
    const text = cleanText(this.#kept.toString('utf8'))
    const lines = text.split('\n').map((line) => line.trimEnd())
    // The first line may have lost its beginning, and with it what would tell a secret or a control sequence.
    if (this.#cut && lines.length > 1) lines.shift()
    const shown = lines.filter((line) => line !== '').slice(-MAX_LINES)
    return redactText(shown.join('\n'), KEPT_BYTES).slice(-MAX_CHARACTERS)
  }
}
