import { ToolExecutionError } from '../../core/tool-result.ts'

export type DocumentFormat = 'text' | 'markdown' | 'html' | 'pdf' | 'code' | 'json' | 'csv'

export type BlockKind = 'heading' | 'prose' | 'list' | 'code' | 'table' | 'record'

/** A part of a document that belongs together. Blocks are in order; only white space is outside of them. */
export interface Block {
  readonly kind: BlockKind
  readonly start: number
  readonly end: number
  /** The headings above it, outermost first. Blocks of one section share the array. */
  readonly path: readonly string[]
  /** The number of the page, row or item, from 1; 0 if there is none. */
  readonly nth: number
}

/** A document as text, with its structure. */
export interface ReadDocument {
  readonly format: DocumentFormat
  readonly title: string
  /** Well formed, without NUL, with `\n` line ends. */
  readonly text: string
  readonly blocks: readonly Block[]
  /** Sentences without their subject, the document. */
  readonly warnings: readonly string[]
}

/** Normalizes text for storage: `\n` line ends, well formed, and no NUL, which databases reject. */
export function cleanText(text: string): string {
  let clean = text
  if (clean.includes('\r')) clean = clean.replaceAll(/\r\n?/g, '\n')
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '\ufffd')
  return clean.toWellFormed()
}

export type UnreadableReason =
  | 'no-file'
  | 'too-large'
  | 'binary'
  | 'encoding'
  | 'encrypted'
  | 'corrupt'
  | 'no-text'
  | 'too-slow'
  | 'stopped'

/** A document that can't be read. The message names it, says why and, if possible, what to do. */
export class UnreadableDocument extends ToolExecutionError {
  readonly document: string
  readonly reason: UnreadableReason

  constructor(document: string, reason: UnreadableReason, why: string, options?: ErrorOptions) {
    super('INVALID_PARAMETERS', `Document ${JSON.stringify(document)} cannot be read: ${why}`, {}, options)
    this.name = 'UnreadableDocument'
    this.document = document
    this.reason = reason
  }
}
