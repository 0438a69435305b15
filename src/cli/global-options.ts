/** The options that every command takes. */
export interface GlobalOptions {
  readonly json?: boolean
  readonly config?: string
  readonly verbose?: boolean
}
