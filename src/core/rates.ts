/** So many calls in any so many milliseconds. */
export interface Rate {
  readonly calls: number
  readonly perMs: number
}

/** How a limit stands after a call has asked for its place. */
export interface RateState {
  /** 0 where the call may run, else the milliseconds until the next one may. */
  readonly waitMs: number
  /** How many more calls may run now. */
  readonly remaining: number
}

/** Counts calls against limits. Where servers share them, the answer may have to be waited for. */
export interface Rates {
  take(key: string, rate: Rate, now: number): RateState | Promise<RateState>
  /** How a limit stands without taking anything of it, as far as this server knows. */
  look(key: string, rate: Rate, now: number): RateState
}

/** One limit of a caller, besides those of the tools: what it is called in errors, and what its calls are counted by. */
export interface CallerRate extends Rate {
  readonly key: string
  /** Completes "…: try again in 5 s", such as `Caller 'ci' may make 60 calls a minute`. */
  readonly says: string
}
