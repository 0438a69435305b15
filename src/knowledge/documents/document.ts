import { ToolExecutionError } from '../../core/tool-execution-error.ts'

export type DocumentFormat = 'text' | 'markdown' | 'html' | 'pdf' | 'code' | 'json' | 'csv'

/** The kind of a block decides where it may be split. */
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
  /** Warnings about parts that could not be read, each a sentence without its subject (the document). */
  readonly warnings: readonly string[]
}

/** Normalizes text for storage: `\n` line ends, well formed, and no NUL, which databases reject. */
export function cleanText(text: string): string {
  let clean = text
  if (clean.includes('\r')) clean = clean.replaceAll(/\r\n?/g, '\n')
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '\ufffd')
  return clean.toWellFormed()
}

/** Why a document can't be read. */
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
