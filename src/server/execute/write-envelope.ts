import type { ServerResponse } from 'node:http'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

const FIXED = ['content-type', 'application/json; charset=utf-8', ...Object.entries(SECURITY_HEADERS).flat()]
/** How long an answer may lie there without its client taking any of it. */
const PATIENCE_MS = 30_000

/** Answers with a result; `more` are headers besides the fixed ones, names and values in turn. */
export function writeEnvelope(response: ServerResponse, result: ToolResult, more: readonly string[]): void {
  writeJson(response, result.success ? 200 : TOOL_ERRORS[result.error_code].status, result, more)
}

/** Writes an answer down in one go: all headers at once, then the document. */
export function writeJson(response: ServerResponse, status: number, document: object, more: readonly string[]): void {
  if (response.destroyed) return
  const text = JSON.stringify(document)
  const bytes = Buffer.byteLength(text)
  response.writeHead(status, [...FIXED, 'content-length', String(bytes), ...more])
  // Text that is all ASCII is the same in both encodings, and quicker written in the simple one.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8')
  if (response.writableLength > 0) response.setTimeout(PATIENCE_MS, () => response.destroy())
}
