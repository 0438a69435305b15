import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/** What the result codes of SQLite mean for who runs the server: https://sqlite.org/rescode.html. */
const MEANINGS: Readonly<Record<number, string>> = {
  5: 'is locked by another process: end what uses it, or wait until it is done',
  6: 'is locked by another process: end what uses it, or wait until it is done',
  8: 'cannot be written: give the server the right to write in its data folder',
  10: 'cannot be read or written: look at the disk of the data folder',
  11: 'is damaged: put a copy in its place, or move it away to start anew',
  13: 'cannot grow, since the disk of the data folder is full: free some space',
  14: 'cannot be opened: give the server the right to write in its data folder',
  26: 'is no database: put a copy in its place, or move it away to start anew',
}

/** A second row with the same primary key, or the same unique value. */
const TWICE: readonly number[] = [1555, 2067]

/** An error of SQLite as a sentence that may be shown; others as they are. */
export function sqliteError(error: unknown, name: string): unknown {
  const { code, errcode } = Object(error) as { code?: unknown; errcode?: unknown }
  if (code === 'ERR_INVALID_STATE') return new ToolExecutionError('SERVICE_UNAVAILABLE', 'The store is closed')
  if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') return error
  if (TWICE.includes(errcode)) {
    return new ToolExecutionError('INVALID_PARAMETERS', 'The store has one of that name already', {}, { cause: error })
  }
  // The upper bits only say it in more detail.
  const meaning = MEANINGS[errcode & 0xff]
  if (meaning === undefined) return error
  return new ToolExecutionError('SERVICE_UNAVAILABLE', `${name} ${meaning}`, {}, { cause: error })
}

/** Whether it is a matter of waiting. */
export function isBusy(error: unknown): boolean {
  const { errcode } = Object(Object(error).cause) as { errcode?: unknown }
  return typeof errcode === 'number' && [5, 6].includes(errcode & 0xff)
}
