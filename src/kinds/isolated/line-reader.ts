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
