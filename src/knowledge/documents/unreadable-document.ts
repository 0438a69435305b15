import { ToolExecutionError } from '../../core/tool-execution-error.ts'

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
