export interface LeaseRequest {
  readonly key: string
  readonly calls: number
  readonly perMs: number
  /** The share that this server wants; a smaller one returns the rest. */
  readonly want: number
}

/** The servers that share the limits, as far as this server knows. Works without the store. */
export interface Company {
  readonly servers: number
  /** How long this server had been alone at the last check; 0 if it is not. */
  readonly aloneMs: number
  /** The last outage of the store. */
  readonly gap?: { readonly lastedMs: number; readonly agoMs: number }
}

/** Shared limits. All shares together never exceed the limit; those of a dead server expire. */
export interface LeaseStore {
  /** Returns the granted shares, in the order of the requests. */
  lease(requests: readonly LeaseRequest[]): Promise<readonly number[]>
  company(): Promise<Company>
}
