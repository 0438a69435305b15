import type { EncodedText, TextEncoder } from './encoded-text.ts'
import type { Pair } from './pair-scorer.ts'

/** A pair as the model takes it. */
export interface EncodedPair {
  readonly ids: readonly number[]
  /** Where the tokens of what was said begin; before them stands the rest. */
  readonly offset: number
  readonly said: EncodedText
}

const CLS = 101
const SEP = 102
/** What the model was trained with; three of them are marks. */
export const MOST_TOKENS = 128
const ROOM = MOST_TOKENS - 3

/** Puts a pair together; of two long texts the longer one is cut, as in training. */
export function encodePair(encoder: TextEncoder, { meant, said }: Pair): EncodedPair {
  const first = encoder.encode(meant, ROOM)
  const second = encoder.encode(said, ROOM)
  const [mostFirst, mostSecond] = shares(first.ids.length, second.ids.length)
  const head = first.ids.slice(0, mostFirst)
  const tail = second.ids.slice(0, mostSecond)
  return {
    ids: [CLS, ...head, SEP, ...tail, SEP],
    offset: head.length + 2,
    said: { ids: tail, from: second.from.slice(0, mostSecond), to: second.to.slice(0, mostSecond) },
  }
}

function shares(first: number, second: number): [number, number] {
  if (first + second <= ROOM) return [first, second]
  const half = Math.floor(ROOM / 2)
  const shorter = Math.min(first, second)
  if (shorter > half) return first <= second ? [half, ROOM - half] : [ROOM - half, half]
  return first <= second ? [first, ROOM - first] : [ROOM - second, second]
}
