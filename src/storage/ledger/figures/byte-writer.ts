/** Writes numbers and texts into bytes that grow as needed. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1_024)
  #length = 0

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** A whole number from 0 on: seven bits a byte, the lowest first, the eighth says that more follow. */
  whole(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  number(value: number): void {
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  text(value: string): void {
    const size = Buffer.byteLength(value)
    this.whole(size)
    this.#reserve(size)
    this.#length += this.#bytes.write(value, this.#length)
  }

  /** Text in hexadecimal, two digits a byte. */
  hex(value: string): void {
    this.whole(value.length / 2)
    this.#reserve(value.length / 2)
    this.#length += this.#bytes.write(value, this.#length, 'hex')
  }

  /** What was written, as bytes of its own. */
  bytes(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, 0, this.#length)
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return
    const wider = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + size))
    this.#bytes.copy(wider, 0, 0, this.#length)
    this.#bytes = wider
  }
}
