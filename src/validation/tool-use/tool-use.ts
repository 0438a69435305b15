import type { ToolUseSource } from '../../core/storage/tool-use-store.ts'
import type { FailureKind } from '../suites/suite.ts'

/** What a model did wrong: as in suites, or in a way that only real runs show. */
export type ToolUseFailureKind =
  | FailureKind
  /** It called a tool that it was not offered. */
  | 'unknown_tool'
  /** It wrote the call as text, where it was found. */
  | 'recovered_call'

/** Whether a tool was used as it should be; the verdict of a case is one. */
export type ToolUseOutcome =
  | { readonly passed: true }
  | {
      readonly passed: false
      readonly kind: ToolUseFailureKind
      readonly message: string
      readonly expected?: unknown
      readonly actual?: unknown
    }

/** One use of a tool by a model. */
export interface ToolUse {
  readonly tenant: string
  /** `provider:model`. */
  readonly model: string
  readonly tool: string
  /** By `schemaHash`. */
  readonly schemaHash: string
  readonly outcome: ToolUseOutcome
  readonly source: ToolUseSource
  /** The run that it happened in. */
  readonly runId?: string
}

/** Stands for all tools that a model made up, so that its inventions do not fill the table. */
export const UNKNOWN_TOOL = '(unknown)'
