/** The longest line a child may send, and so the largest result: what our process can read without others waiting. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024

/** How deep a message may be nested. */
export const MAX_MESSAGE_DEPTH = 1000

/** How many reports and log lines one call may send, and how long one may be; the child drops the rest. */
export const MAX_NOTES = 1000
export const MAX_NOTE_CHARACTERS = 4 * 1024

/** What the parent bears from one call before it ends the process: only a child that goes round its own bounds gets there. */
export const MAX_CALL_MESSAGES = 2 * MAX_NOTES
export const MAX_CALL_BYTES = 16 * MAX_MESSAGE_BYTES

export const MAX_ERROR_CHARACTERS = 2000

/** A call that ended before its handler could say how: of a write, the executor then says that it may have happened. */
export const MAY_HAVE_HAPPENED = { outcome: 'unknown' } as const

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** One call as it goes to the child. */
export interface CallMessage {
  readonly id: number
  readonly module: string
  readonly export: string
  readonly params: unknown
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  /** The levels that somebody listens to. */
  readonly levels: readonly LogLevel[]
}

/** What a child is told: to do a call, or to load a module that the next one may need. */
export type ParentMessage = CallMessage | { readonly prepare: string }

/** What a child says, each as one line of JSON; `retire` asks for the end of a process that is no longer clean. */
export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly id: number; readonly value?: unknown; readonly retire?: boolean }
  | {
      readonly type: 'failed'
      readonly id: number
      readonly message: string
      readonly code?: string
      readonly retire?: boolean
      /** Where the handler did not fail itself: its result was of no use, or something went wrong beside it. */
      readonly outcome?: 'unknown'
      /** For the operator's log only: may hold paths. */
      readonly detail?: string
    }
  | { readonly type: 'report'; readonly id: number; readonly progress?: unknown }
  | {
      readonly type: 'log'
      readonly id: number
      readonly level: LogLevel
      readonly fields: object
      readonly message: string
    }
