import { isDeep } from '../core/json/json-depth.ts'
import type { ToolResult } from '../core/tool-result.ts'

/** Limit for one line, and so for a result: parsing it must not block our process. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024

export const MAX_MESSAGE_DEPTH = 1000

/** Limits for the reports and log lines of one call; the child drops the rest. */
export const MAX_NOTES = 1000
export const MAX_NOTE_CHARACTERS = 4 * 1024

/** Limits that only a misbehaving child exceeds; the parent then kills it. */
export const MAX_CALL_MESSAGES = 2 * MAX_NOTES
export const MAX_CALL_BYTES = 16 * MAX_MESSAGE_BYTES

export const MAX_ERROR_CHARACTERS = 2000

/** For calls that ended before their handler did: a write may have happened. */
export const MAY_HAVE_HAPPENED = { outcome: 'unknown' } as const

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface CallMessage {
  readonly id: number
  readonly module: string
  readonly export: string
  readonly params: unknown
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  readonly levels: readonly LogLevel[]
  /** Whether the handler may call tools. */
  readonly calls: boolean
}

/** The result of a tool that the handler of call `id` has called. */
export interface ResultMessage {
  readonly id: number
  readonly ordinal: number
  readonly result: ToolResult
}

/** Messages to a child: run a call, return a result to it, or load a module for the next one. */
export type ParentMessage = CallMessage | ResultMessage | { readonly prepare: string }

/** Messages from a child, one line of JSON each. `retire` asks the parent to end the process. */
export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly id: number; readonly value?: unknown; readonly retire?: boolean }
  | {
      readonly type: 'failed'
      readonly id: number
      readonly message: string
      readonly code?: string
      readonly retire?: boolean
      /** Set if the handler itself didn't fail. */
      readonly outcome?: 'unknown'
      /** For the operator's log only: may contain paths. */
      readonly detail?: string
    }
  | { readonly type: 'report'; readonly id: number; readonly progress?: unknown }
  | {
      readonly type: 'call'
      readonly id: number
      /** Identifies the result among those of the same call. */
      readonly ordinal: number
      readonly name: string
      readonly params?: unknown
    }
  | {
      readonly type: 'log'
      readonly id: number
      readonly level: LogLevel
      readonly fields: object
      readonly message: string
    }

/** Parses a line from a child; undefined if it is invalid, since a handler may have written it. */
export function readMessage(line: string): ChildMessage | undefined {
  let message: ChildMessage
  if (isDeep(line, MAX_MESSAGE_DEPTH)) return undefined
  try {
    message = JSON.parse(line)
  } catch {
    return undefined
  }
  if (message === null || typeof message !== 'object') return undefined
  switch (message.type) {
    case 'ready':
    case 'done':
    case 'report':
      return message
    case 'failed':
      return typeof message.message === 'string' ? message : undefined
    case 'call':
      return typeof message.name === 'string' && Number.isInteger(message.ordinal) ? message : undefined
    case 'log':
      return LOG_LEVELS.includes(message.level) && typeof message.message === 'string' ? message : undefined
    default:
      return undefined
  }
}

export interface Thrown {
  readonly message: string
  readonly code?: string
}

const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

/** Whether a value looks like an error code, such as `RATE_LIMITED` or `ENOENT`. */
export const isCode = (code: unknown): code is string => typeof code === 'string' && CODE.test(code)

/** Reads a thrown value, which may be anything. */
export function thrown(error: unknown): Thrown {
  try {
    const { message, code } = Object(error) as { message?: unknown; code?: unknown }
    const text = typeof message === 'string' ? message : String(error)
    return { message: text.slice(0, MAX_ERROR_CHARACTERS), ...(isCode(code) ? { code } : {}) }
  } catch {
    return { message: 'the handler threw a value that cannot be shown' }
  }
}
