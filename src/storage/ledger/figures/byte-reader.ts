/** Reads what a `ByteWriter` wrote; throws a RangeError where the bytes end too early. */
export class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  byte(): number {
    const value = this.#bytes[this.#at++]
    if (value === undefined) throw new RangeError('The bytes end too early')
    return value
  }

  whole(): number {
    let value = this.byte()
    if (value < 0x80) return value
    value -= 0x80
    for (let scale = 0x80; ; scale *= 0x80) {
      const next = this.byte()
      if (next < 0x80) return value + next * scale
      value += (next - 0x80) * scale
    }
  }

  number(): number {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  text(): string {
    return this.#take('utf8')
  }

  hex(): string {
    return this.#take('hex')
  }

  /** Reads whole numbers into the places from `first` up to `end`. Written out: figures consist of little else. */
  wholes(into: Float64Array, first: number, end: number): void {
    const bytes = this.#bytes
    if (end > into.length || this.#at + end - first > bytes.length) throw new RangeError('The bytes end too early')
    let at = this.#at
    for (let next = first; next < end; next++) {
      const value = bytes[at++] as number
      if (value < 0x80) into[next] = value
      else {
        this.#at = at - 1
        into[next] = this.whole()
        at = this.#at
      }
    }
    this.#at = at
  }

  #take(encoding: 'utf8' | 'hex'): string {
    const end = this.whole() + this.#at
    if (end > this.#bytes.length) throw new RangeError('The bytes end too early')
    const text = this.#bytes.toString(encoding, this.#at, end)
    this.#at = end
    return text
  }
}
