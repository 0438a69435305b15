import type { Capability } from './adapter.ts'
import type { Probe } from './probe.ts'

/** One fault, from the point of view of whoever has to live with it. */
export interface Case {
  readonly id: string
  /** What holds where the case passes. */
  readonly title: string
  /** What hurts where it does not. */
  readonly why: string
  /** A public thread that asks for it: `owner/repository#number`. */
  readonly thread: string
  readonly needs: readonly Capability[]
  /** Returns where the runtime passes; what it throws is the reason why not. */
  run(probe: Probe): Promise<void>
}

/** What became of one case on one runtime. `none`: the runtime has no such thing, or not yet. */
export interface Verdict {
  readonly status: 'pass' | 'fail' | 'none'
  /** Empty where it passed. */
  readonly reason: string
}
