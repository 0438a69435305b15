import type { ModelPrices } from './model-info.ts'

/** What tokens cost; undefined where nobody has said. */
export function costOf(prices: ModelPrices, prompt: number, completion: number): number
export function costOf(prices: ModelPrices | undefined, prompt: number, completion: number): number | undefined
export function costOf(prices: ModelPrices | undefined, prompt: number, completion: number): number | undefined {
  return prices && (prompt * prices.input + completion * prices.output) / 1_000_000
}
