import type { Tree } from './document-tree.ts'

/** A parameter outside the body, and how its value is written. */
export interface StatedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required: boolean
  readonly style: string
  readonly explode: boolean
}

export interface StatedBody {
  readonly required: boolean
  /** The schema of each type that the API takes. */
  readonly content: ReadonlyMap<string, Tree>
  /** How a field of a form is written, where the document says. */
  readonly encoding: ReadonlyMap<string, { readonly style?: string; readonly explode?: boolean }>
}

/** One thing that shows who asks. */
export type StatedCredential =
  | { readonly kind: 'key'; readonly in: string; readonly name: string }
  | { readonly kind: 'bearer' | 'basic' }
  | { readonly kind: 'client'; readonly tokenUrl: string }
  | { readonly kind: 'impossible' }

/** What a request of an operation looks like, in the words of its document. */
export interface StatedRequest {
  readonly parameters: readonly StatedParameter[]
  readonly body: StatedBody | undefined
  /** Alternatives, each a list of what is shown together; empty where nothing is asked for. */
  readonly security: readonly (readonly StatedCredential[])[]
  /** Addresses as they stand there, variables replaced. */
  readonly servers: readonly string[]
  /** The types of what comes back. */
  readonly answers: readonly string[]
  /** The first good status that is named. */
  readonly status: number
}
