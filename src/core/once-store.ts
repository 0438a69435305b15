import type { ToolResult } from './tool-result.ts'

export interface OnceClaim {
  readonly tenant: string
  readonly caller: string
  readonly key: string
  /** A hash of tool and parameters: reusing a key for another call is an error. */
  readonly fingerprint: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface OnceResult {
  readonly claim: OnceClaim
  readonly result: ToolResult
}

/** A key to look at. Without a fingerprint, whatever call it is for. */
export type OnceKey = Pick<OnceClaim, 'tenant' | 'caller' | 'key'> & { readonly fingerprint?: string }

/**
 * `fresh`: the claim succeeded, run the call; `done`: the stored result; `running`: another server runs it; `lost`: its
 * server died before it ended; `other`: the key belongs to another call.
 */
export type OnceState =
  | { readonly state: 'fresh' | 'running' | 'lost' | 'other' }
  | { readonly state: 'done'; readonly result: ToolResult }

export interface OnceStore {
  claim(claim: OnceClaim): Promise<OnceState>
  /** The state of a key, without claiming it. `fresh`: nobody has claimed it. */
  look(key: OnceKey): Promise<OnceState>
  settle(claim: OnceClaim, result: ToolResult): Promise<void>
  /** Frees the key of a call that did not happen. */
  release(claim: OnceClaim): Promise<void>
}
