const NEWLINE = 10

/** Pieces of a line are joined above this number: a small buffer costs far more than its bytes. */
const MAX_PIECES = 1024

interface LineEvents {
  /** A line without its end. */
  line(bytes: Buffer): void
  /** The next piece of a line over the limit, from its beginning. */
  excess(bytes: Buffer): void
  /** The end of such a line. */
  excessEnd(): void
}

/** Splits a stream of bytes into lines. A line over the limit is passed on in pieces, and not buffered. */
export class LineReader {
  readonly #limit: number
  readonly #events: LineEvents
  #pieces: Buffer[] = []
  #length = 0

  constructor(limit: number, events: LineEvents) {
    this.#limit = limit
    this.#events = events
  }

  /** Takes ownership of the chunk: it may be empty afterwards. */
  push(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end))
      this.#finish()
      from = end + 1
    }
    if (from < chunk.length) this.#add(chunk.subarray(from))
  }

  /** Treats the rest as a line. */
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
    } else if (this.#pieces.length > MAX_PIECES) {
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

/** Frees the memory at once: garbage collection would let 30 MB and more pile up first. */
function release(bytes: Buffer): void {
  const { buffer } = bytes
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
  if (isWhole) buffer.transfer(0)
}
