import type { GateDecision } from '../core/storage/run-store.ts'
import type { Offer } from './tool-offer.ts'

/** What is left of an offer, and what was decided about the tools that a model fails with. */
export interface GatedOffer {
  readonly offer: Offer
  readonly decisions: readonly GateDecision[]
}

/**
 * Decides at the start of a run which tools its model is warned of, or not offered; undefined where there is nothing to
 * decide. It answers from what it knows, at once: a run waits for no store.
 */
export type ToolGate = (offer: Offer, model: string, tenant: string) => GatedOffer | undefined
