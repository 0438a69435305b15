import type { StoredRun } from '../core/storage/run-store.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'

/** The place of a run among all, newest first. */
export type RunPlace = Pick<StoredRun, 'started_at' | 'id'>

/** Where the next page of runs begins: after this one. */
export const writeRunCursor = ({ started_at, id }: RunPlace): string =>
  Buffer.from(JSON.stringify([started_at, id])).toString('base64url')

export function readRunCursor(cursor: string): RunPlace {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 2) {
      const [started_at, id] = value as unknown[]
      if (typeof started_at === 'string' && typeof id === 'string') return { started_at, id }
    }
  } catch {
    // It is said below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is none that a page gave as next`,
  )
}
