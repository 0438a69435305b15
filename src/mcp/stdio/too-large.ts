import type { JSONRPCErrorResponse } from '@modelcontextprotocol/client'

const INTERNAL_ERROR = -32_603

/** The `data` of the error that a request gets whose answer was too large. It is told by identity: no server can send it. */
const TOO_LARGE: { readonly too_large: true } = Object.freeze({ too_large: true })

/** The answer that stands in for one that was not kept. */
export function tooLargeAnswer(id: string | number, limit: number): JSONRPCErrorResponse {
  const message = `The server answered with more than ${limit} bytes, which were not read`
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message, data: TOO_LARGE } }
}

/** The answer that stands in for one that was not parsed. */
export function deepAnswer(id: string | number, limit: number): JSONRPCErrorResponse {
  const message = `The server answered with JSON that is nested deeper than ${limit} levels`
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } }
}

/** Whether a request failed because its answer was over the bound of a line. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'data' in error && error.data === TOO_LARGE
}
