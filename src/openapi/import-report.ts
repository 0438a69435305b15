import type { ToolDefinition } from '../core/tool.ts'
import type { ReferencedFile } from './documents.ts'

/** How a document is imported. */
export interface ImportOptions {
  /** Only operations with one of these tags, paths, operation ids or names; all where there are none. */
  readonly include?: readonly string[]
  /** What every name begins with. */
  readonly prefix?: string
  /** Takes the place of the document's servers; relative ones start from it. */
  readonly baseUrl?: string
  /** Where the document was read from, where that is the web: relative servers start there. */
  readonly documentUrl?: string
  /** The files that the document refers to, by their path from its folder. */
  readonly files?: ReadonlyMap<string, ReferencedFile>
  /** Told now and then how many of the operations are done. */
  readonly onProgress?: (done: number, all: number) => void
}

/** What became of a document. Every operation in it is mapped, refused or excluded. */
export interface ImportReport {
  readonly title: string
  /** Operations in the document. */
  readonly found: number
  /** Operations that are tools now. */
  readonly mapped: number
  /** Operations that `include` left out. */
  readonly excluded: number
  readonly refused: readonly { readonly operation: string; readonly reason: string }[]
  /** What differs from the document in tools that were mapped. */
  readonly notes: readonly { readonly operation: string; readonly note: string }[]
  /** Whether the document says at all how callers show who they are. */
  readonly secured: boolean
  /** The environment variables that the tools need. */
  readonly variables: readonly string[]
  /** Requests that the API makes, not takes: they are no tools. */
  readonly webhooks: readonly string[]
  readonly callbacks: readonly string[]
  /** Sorted by name. */
  readonly definitions: readonly ToolDefinition[]
}
