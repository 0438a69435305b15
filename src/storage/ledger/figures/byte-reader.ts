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

  /**
   * Reads so many counts into their places from `first` on, where a 0 is followed by the length of a gap; gives where
   * they end. Written out, since figures consist of little else.
   */
  counts(many: number, into: Float64Array, first: number): number {
    const bytes = this.#bytes
    let at = this.#at
    let next = first
    let left = many
    while (left > 0) {
      let value = bytes[at++]
      if (value === undefined || next >= into.length) throw new RangeError('The bytes end too early')
      if (value >= 0x80) {
        this.#at = at - 1
        value = this.whole()
        at = this.#at
      }
      if (value > 0) {
        into[next++] = value
        left--
        continue
      }
      this.#at = at
      const end = Math.min(next + this.whole(), into.length)
      at = this.#at
      while (next < end) into[next++] = 0
    }
    this.#at = at
    return next
  }

  #take(encoding: 'utf8' | 'hex'): string {
    const end = this.whole() + this.#at
    if (end > this.#bytes.length) throw new RangeError('The bytes end too early')
    const text = this.#bytes.toString(encoding, this.#at, end)
    this.#at = end
    return text
  }
}
