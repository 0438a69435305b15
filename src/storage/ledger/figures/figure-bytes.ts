import { BUCKETS, type TimeHistogram } from '../../../core/time-histogram.ts'

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

/** Where more buckets than this are empty for each that is not, they are left out. */
const MOST_EMPTY = 2

/**
 * The sum; how many buckets hold something; the first of them, and how many there are from it to the last. Then the
 * counts of all of these, which are read fastest, or, where most would be 0, pairs of how far it is from the bucket
 * before and the count.
 */
export function writeHistogram(to: ByteWriter, histogram: TimeHistogram): void {
  const buckets: [bucket: number, count: number][] = []
  histogram.forEachBucket((bucket, count) => buckets.push([bucket, count]))
  to.number(histogram.sumMs)
  to.whole(buckets.length)
  const [first, last] = [buckets[0], buckets.at(-1)]
  if (first === undefined || last === undefined) return
  const span = last[0] - first[0] + 1
  to.whole(first[0])
  to.whole(span)
  const sparse = isSparse(buckets.length, span)
  let next = first[0]
  for (const [bucket, count] of buckets) {
    if (sparse) to.whole(bucket - next)
    else for (; next < bucket; next++) to.whole(0)
    to.whole(count)
    next = bucket + 1
  }
}

const counts = new Float64Array(BUCKETS)

/** Adds what `writeHistogram` wrote. */
export function addHistogram(from: ByteReader, histogram: TimeHistogram): void {
  histogram.addSum(from.number())
  const buckets = from.whole()
  if (buckets === 0) return
  const first = from.whole()
  const span = from.whole()
  if (!isSparse(buckets, span)) {
    from.wholes(counts, first, first + span)
    histogram.addCounts(counts, first, first + span)
    return
  }
  let bucket = first
  for (let left = buckets; left > 0; left--) {
    bucket += from.whole()
    counts[bucket] = from.whole()
    histogram.addCounts(counts, bucket, bucket + 1)
    bucket++
  }
}

const isSparse = (buckets: number, span: number): boolean => span > (1 + MOST_EMPTY) * buckets

/** Figures that a newer version has written are not guessed at. */
export function checkVersion(found: number, known: number): void {
  if (found !== known) throw new RangeError(`Figures of version ${found}: this version of Toolyard reads ${known}`)
}
