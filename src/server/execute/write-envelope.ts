import { type ServerResponse, STATUS_CODES } from 'node:http'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { KEEP_ALIVE_MS } from '../http-server.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

const FIXED = ['content-type', 'application/json; charset=utf-8', ...Object.entries(SECURITY_HEADERS).flat()]
/** How long an answer may lie there without its client taking any of it. */
const PATIENCE_MS = 30_000

/**
 * Answers with a result; `more` are headers besides the fixed ones, names and values in turn. They go out as they are:
 * nothing that a client sent belongs in them.
 */
export function writeEnvelope(response: ServerResponse, result: ToolResult, more: readonly string[]): void {
  writeJson(response, result.success ? 200 : TOOL_ERRORS[result.error_code].status, result, more)
}

/** Writes an answer down in one go: all headers at once, then the document. */
export function writeJson(response: ServerResponse, status: number, document: object, more: readonly string[]): void {
  if (response.destroyed) return
  const text = JSON.stringify(document)
  const bytes = Buffer.byteLength(text)
  if (response.shouldKeepAlive) {
    response.statusCode = status
    // What `writeHead` would put together piece by piece, which takes as long as a whole call: Node sends what is there.
    ;(response as unknown as { _header: string })._header = headOf(status, bytes, more)
  } else {
    response.writeHead(status, [...FIXED, 'content-length', String(bytes), ...more])
  }
  // Text that is all ASCII is the same in both encodings, and quicker written in the simple one.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8')
  if (response.writableLength > 0) response.setTimeout(PATIENCE_MS, () => response.destroy())
}

const headOf = (status: number, bytes: number, more: readonly string[]): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${linesOfThisSecond()}content-length: ${bytes}\r\n${linesOf(more)}\r\n`

const LINES = linesOf([...FIXED, 'connection', 'keep-alive', 'keep-alive', `timeout=${KEEP_ALIVE_MS / 1_000}`])
let second = 0
let lines = ''

/** The fixed headers and the date, which is the same for a second. */
function linesOfThisSecond(): string {
  const now = Math.floor(Date.now() / 1_000)
  if (now !== second) {
    second = now
    lines = `${LINES}date: ${new Date(now * 1_000).toUTCString()}\r\n`
  }
  return lines
}

function linesOf(headers: readonly string[]): string {
  let text = ''
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`
  return text
}
