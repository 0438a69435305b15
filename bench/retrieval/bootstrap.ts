/** A mean, and where it would lie for 95 of 100 other samples of questions. */
export interface Estimate {
  readonly mean: number
  readonly low: number
  readonly high: number
}

const SAMPLES = 10_000

/** The mean with its 95 % interval, by drawing the questions anew: the same figures every time. */
export function estimate(values: readonly number[]): Estimate {
  const next = numbers(1)
  const means = Array.from({ length: SAMPLES }, () => {
    let sum = 0
    for (let draw = 0; draw < values.length; draw++) sum += values[Math.floor(next() * values.length)] as number
    return sum / values.length
  }).sort((a, b) => a - b)
  const at = (share: number) => means[Math.floor(share * (SAMPLES - 1))] as number
  return { mean: mean(values), low: at(0.025), high: at(0.975) }
}

/** By how much one is better than another on the same questions, which says more than two intervals side by side. */
export const difference = (values: readonly number[], others: readonly number[]): Estimate =>
  estimate(values.map((value, index) => value - (others[index] as number)))

export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Numbers from 0 to 1 that look random and are always the same (mulberry32). */
export function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
