import type { ToolResult } from '../tool-result.ts'

/** A call that must not happen twice. */
export interface OnceClaim {
  readonly tenant: string
  readonly caller: string
  /** What the caller calls it by. */
  readonly key: string
  /** Tool and parameters, hashed: the same key for something else is a mistake of the caller's. */
  readonly fingerprint: string
  /** When the answer may be forgotten, in milliseconds since 1970. */
  readonly expiresAt: number
}

/**
 * What is known of a call: `fresh`: it is yours to run now; `done`: here is its answer; `running`: another runs it;
 * `lost`: whoever ran it died before it ended; `other`: the key stands for another call.
 */
export type OnceState =
  | { readonly state: 'fresh' | 'running' | 'lost' | 'other' }
  | { readonly state: 'done'; readonly result: ToolResult }

/** Remembers the answers of calls that carry an idempotency key. */
export interface OnceStore {
  claim(claim: OnceClaim): Promise<OnceState>
  settle(claim: OnceClaim, result: ToolResult): Promise<void>
  /** The call did not happen: the key is free again. */
  release(claim: OnceClaim): Promise<void>
}
