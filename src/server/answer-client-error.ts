import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { HttpProblem, PROBLEM_TYPE } from './http-problem.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/** What never became a request, by the code of the parser. */
const STATUS: Readonly<Record<string, readonly [status: number, title: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The body is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive'],
}

/** Answers what could not be read as a request, and hangs up. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, title] = STATUS[error.code ?? ''] ?? [400, 'The request could not be read']
  const body = JSON.stringify(new HttpProblem(status, title))
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
