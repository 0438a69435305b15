import { COUNT, checkNested, checkNumber } from '../core/check-options.ts'
import type { ModelRequest } from './model.ts'
import type { ModelPrices } from './model-info.ts'

/** Throws for numbers of a request that no provider takes. `place` names the method that got them. */
export function checkSampling(
  place: string,
  { max_tokens, temperature }: { readonly [Key in 'max_tokens' | 'temperature']?: ModelRequest[Key] | undefined },
): void {
  if (max_tokens !== undefined) checkNumber(place, 'max_tokens', max_tokens, COUNT)
  if (temperature !== undefined) checkNumber(place, 'temperature', temperature, { min: 0, max: 2 })
}

const PRICES = { input: true, output: true, cached_input: true } as const

/** Throws for a price that can't be counted: a budget would silently not apply. `place` is where it was given. */
export function checkPrices(place: string, prices: ModelPrices): void {
  checkNested(place, 'prices', prices, PRICES)
  const { input, output, cached_input = input } = prices
  for (const [name, price] of Object.entries({ input, output, cached_input })) {
    checkNumber(place, `prices.${name}`, price, { min: 0 })
  }
}
