import type { IsolatedHandler } from '../../core/handler.ts'
import type { Isolate } from '../../core/isolate.ts'
import { silentLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { UnreadableDocument, type UnreadableReason } from './unreadable-document.ts'

export interface ExtractionOptions {
  /** The document's name: errors name it. */
  readonly name: string
  /** Where extractors run. */
  readonly isolate: Isolate
  readonly signal?: AbortSignal
  /** Whose work it is: tenants take turns. */
  readonly tenant?: string
}

/** The memory that a process needs for the largest documents: they reach it as text, and are there several times. */
export const EXTRACTION_MEMORY_MB = 256

/** How long the extraction from one document may take. */
const EXTRACTION_MS = 120_000

/** What extractors throw, by its code. */
const REASONS: Readonly<Record<string, UnreadableReason>> = {
  PDF_ENCRYPTED: 'encrypted',
  PDF_CORRUPT: 'corrupt',
  PDF_PAGE_TOO_LARGE: 'too-large',
  HTML_TOO_LARGE: 'too-large',
}

/** The calls that take the text out of one document: outside our process, under one deadline. */
export class Extraction {
  readonly #reader: string
  readonly #options: ExtractionOptions
  readonly #late = AbortSignal.timeout(EXTRACTION_MS)
  readonly #signal: AbortSignal

  /** `reader` is what the pool's errors speak of, such as `PDF reader`. */
  constructor(reader: string, options: ExtractionOptions) {
    this.#reader = reader
    this.#options = options
    this.#signal = options.signal === undefined ? this.#late : AbortSignal.any([this.#late, options.signal])
  }

  async run(handler: IsolatedHandler, params: unknown): Promise<unknown> {
    const { isolate, tenant = 'local' } = this.#options
    const task = { ...handler, params, tenant, flags: {}, report: () => {}, log: silentLog, started: false }
    try {
      return await isolate.run({ ...task, tool: this.#reader }, this.#signal)
    } catch (error) {
      throw this.#unreadable(error) ?? error
    }
  }

  /** The error where it is about the document; undefined where it is about us, the pool or the caller. */
  #unreadable(error: unknown): UnreadableDocument | undefined {
    const { name, signal } = this.#options
    if (signal?.aborted) return undefined
    if (this.#late.aborted) {
      const why = `taking the text out took longer than ${EXTRACTION_MS / 1000} seconds`
      return new UnreadableDocument(name, 'too-slow', why, { cause: error })
    }
    if (!(error instanceof Error)) return undefined
    // The process died over it, of too much memory as a rule.
    if (error instanceof ToolExecutionError && error.extras.outcome === 'unknown') {
      return new UnreadableDocument(name, 'stopped', error.message, { cause: error })
    }
    const reason = REASONS[String((error as { code?: unknown }).code)]
    return reason && new UnreadableDocument(name, reason, error.message, { cause: error })
  }
}
