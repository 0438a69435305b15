import type { PreparedCall } from '../contender.ts'

/** A line to the small server, made ready. */
export interface Connected {
  readonly call: PreparedCall
  close(): Promise<void>
}

/** Something that calls a tool of a server over its standard input and output. */
export interface McpClient {
  readonly id: string
  readonly name: string
  /** The expression that is measured. */
  readonly call: string
  /** The package whose version is shown; absent for what lives in this repository. */
  readonly package?: string
  connect(): Promise<Connected>
}
