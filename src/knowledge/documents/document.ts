import { ToolExecutionError } from '../../core/tool-execution-error.ts'

export type DocumentFormat = 'text' | 'markdown' | 'html' | 'pdf' | 'code' | 'json' | 'csv'

/** What a block is, which says where it may be cut. */
export type BlockKind = 'heading' | 'prose' | 'list' | 'code' | 'table' | 'record'

/** A part of a document that belongs together. Blocks stand in order, and all that is outside of them is white space. */
export interface Block {
  readonly kind: BlockKind
  readonly start: number
  readonly end: number
  /** The headings that it stands under, outermost first. Blocks of one section share one array. */
  readonly path: readonly string[]
  /** Where the last heading is counted (`page`, `row`, `item`): which one, from 1; else 0. */
  readonly nth: number
}

/** A document as text, with its structure. */
export interface ReadDocument {
  readonly format: DocumentFormat
  readonly title: string
  /** Well formed, without NUL, lines ended by `\n`. */
  readonly text: string
  readonly blocks: readonly Block[]
  /** What of it could not be read as it was meant; each a sentence without its subject, the document. */
  readonly warnings: readonly string[]
}

/** Text as it is kept: lines ended by `\n`, well formed, and without NUL, which databases refuse. */
export function cleanText(text: string): string {
  let clean = text
  if (clean.includes('\r')) clean = clean.replaceAll(/\r\n?/g, '\n')
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '\ufffd')
  return clean.toWellFormed()
}

/** Why a document gives no text. */
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

/** A document that gives no text. The message names it and says why, and what to do where something can be done. */
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
