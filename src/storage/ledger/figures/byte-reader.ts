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
   * Reads so many counts into their places among `into`, where a 0 is followed by the length of a gap; gives where the
   * first and the last are. Written out, since figures consist of little else.
   */
  counts(many: number, into: Float64Array): { readonly first: number; readonly end: number } {
    const bytes = this.#bytes
    let at = this.#at
    let [first, next, left] = [-1, 0, many]
    let gap = false
    while (left > 0) {
      let value = bytes[at++]
      if (value === undefined || next >= into.length) throw new RangeError('The bytes end too early')
      if (value >= 0x80) {
        this.#at = at - 1
        value = this.whole()
        at = this.#at
      }
      if (gap) {
        if (first >= 0) into.fill(0, next, next + value)
        next += value
        gap = false
      } else if (value === 0) gap = true
      else {
        if (first < 0) first = next
        into[next++] = value
        left--
      }
    }
    this.#at = at
    return { first: Math.max(first, 0), end: first < 0 ? 0 : next }
  }

  #take(encoding: 'utf8' | 'hex'): string {
    const end = this.whole() + this.#at
    if (end > this.#bytes.length) throw new RangeError('The bytes end too early')
    const text = this.#bytes.toString(encoding, this.#at, end)
    this.#at = end
    return text
  }
}
