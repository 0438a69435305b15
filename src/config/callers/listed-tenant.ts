/** What a tenant may use, by the names of permissions and tools. */
export type Flags = Readonly<Record<string, boolean>>

/** A tenant that has flags or valid keys. */
export interface ListedTenant {
  readonly id: string
  /** What holds: what is stored goes before what is configured. */
  readonly flags: Flags
  readonly configured: Flags
  readonly stored: Flags
  /** How many keys are valid. */
  readonly keys: number
}
