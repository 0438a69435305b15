import type { Writable } from 'node:stream'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/** So much may wait for a server that does not read. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/** Writes lines to a server, those of one turn at once, and never keeps more than a bounded amount of them. */
export class LineWriter {
  readonly #stream: Writable
  readonly #limit: number
  #batch = ''
  #batchBytes = 0
  #waiting: Waiting[] = []
  #isOpen = true

  constructor(stream: Writable, limit = MAX_WAITING_BYTES) {
    this.#stream = stream
    this.#limit = limit
    stream.on('drain', () => {
      for (const { resolve } of this.#waiting.splice(0)) resolve()
    })
  }

  /** Gives a promise where there is no room for more until it settles. Throws where the line was refused: it was not sent. */
  write(line: string): Promise<void> | undefined {
    if (!this.#isOpen || !this.#stream.writable)
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'The connection to the MCP server is closed')
    const bytes = Buffer.byteLength(line)
    const waiting = this.#stream.writableLength + this.#batchBytes
    if (waiting + bytes > this.#limit) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `The MCP server does not read: a message of ${bytes} bytes cannot wait behind ${waiting} (at most ${this.#limit} in all)`,
      )
    }
    if (this.#batch === '') process.nextTick(() => this.#flush())
    this.#batch += line
    this.#batchBytes += bytes
    if (!this.#stream.writableNeedDrain) return undefined
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Sends what is left, and the end. */
  end(): void {
    if (!this.#isOpen) return
    this.#flush()
    this.#isOpen = false
    this.#stream.end()
  }

  /** The stream is gone; who waits for it waits no longer. */
  abandon(): void {
    this.#isOpen = false
    const error = new ToolExecutionError('SERVICE_UNAVAILABLE', 'The MCP server ended before it read the message', {
      outcome: 'unknown',
    })
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #flush(): void {
    if (this.#batch === '' || !this.#isOpen) return
    this.#stream.write(this.#batch)
    this.#batch = ''
    this.#batchBytes = 0
  }
}
