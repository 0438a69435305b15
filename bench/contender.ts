import type { WeatherHandler, WeatherParams } from './weather.ts'

/** `always` without being asked, `option` where the caller can ask for it on this path, `no` otherwise. */
export type Offer = 'always' | 'option' | 'no'

/** A call made ready, in whatever form the contender takes it; only calling it is measured. */
export type PreparedCall = () => Promise<unknown>

/** Something that runs a tool, and what it does for the caller on the measured path besides running it. */
export interface Contender {
  /** Unique; what `--only` takes. */
  readonly id: string
  readonly name: string
  /** The expression that is measured. */
  readonly call: string
  /** The package whose version is shown; absent for what lives in this repository. */
  readonly package?: string
  readonly deadline: Offer
  readonly permission: Offer
  readonly record: Offer
  /** True where the measured call is a refusal. */
  readonly refuses?: true
  prepare(params: WeatherParams, handler: WeatherHandler): Promise<PreparedCall>
}
