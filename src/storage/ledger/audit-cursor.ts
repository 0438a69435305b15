import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { ChainRow } from './ledger-tables.ts'

/** The place of a row among all, newest first. */
export type RowPlace = Pick<ChainRow, 'at' | 'chain' | 'seq'>

/** Where the next page of rows begins: after this one. */
export const writeAuditCursor = ({ at, chain, seq }: RowPlace): string =>
  Buffer.from(JSON.stringify([at, chain, seq])).toString('base64url')

export function readAuditCursor(cursor: string): RowPlace {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 3) {
      const [at, chain, seq] = value as unknown[]
      const named = typeof chain === 'string' && !chain.includes('\0')
      if (Number.isSafeInteger(at) && named && Number.isSafeInteger(seq)) {
        return { at: at as number, chain, seq: seq as number }
      }
    }
  } catch {
    // It is said below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is none that a page gave as next`,
  )
}
