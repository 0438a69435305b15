import type { Transformer } from 'node:stream/web'
import type { FetchLike, JSONRPCErrorResponse } from '@modelcontextprotocol/client'
import { backgroundClock, type Clock } from '../../core/clock.ts'
import { LineReader } from '../../core/line-reader.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { AnswerScanner, checkedText, MAX_MESSAGE_BYTES, tooLargeAnswer } from '../stdio/message-reader.ts'
import { Pace } from '../stdio/pace.ts'

const MAX_STREAM_BYTES = 50 * 1024 * 1024
const MAX_EVENTS = 10_000
/** Blank lines and comments are work, too. */
const MAX_LINES = 200_000
const LINES_PER_EVENT = 10
const EVENT_STREAM = 'text/event-stream'

/**
 * Bounds what a server answers, after decompression: 10 MB for a body or an event, 50 MB and 10,000 events for a stream
 * that answers one request. The streams of a session are slowed down instead. A request whose answer is over a limit
 * gets an error at once.
 */
export function boundedFetch(fetch: FetchLike, clock: Clock = backgroundClock): FetchLike {
  const pace = new Pace(clock)
  return async (url, init) => {
    const headers = new Headers(init?.headers)
    // Not every server honours it.
    headers.set('accept-encoding', 'identity')
    const response = await fetch(url, { ...init, headers })
    if (response.body === null) return response
    const asksForEvents = headers.get('accept')?.includes(EVENT_STREAM) === true
    const type = response.headers.get('content-type')?.toLowerCase() ?? ''
    const isStream = asksForEvents && response.ok && type.startsWith(EVENT_STREAM)
    if (!isStream) return new Response(await wholeBody(response.body, init), response)
    const ofSession = init?.method !== 'POST' || headers.get('mcp-method') === 'subscriptions/listen'
    const events = new EventGuard(ofSession ? { pace } : { id: requestId(init) })
    return new Response(response.body.pipeThrough(new TransformStream(events)), response)
  }
}

async function wholeBody(body: ReadableStream<Uint8Array>, init: RequestInit | undefined): Promise<string | null> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MAX_MESSAGE_BYTES) break
    pieces.push(piece)
  }
  // Some statuses allow no body.
  if (length === 0) return null
  const text = length > MAX_MESSAGE_BYTES ? undefined : checkedText(Buffer.concat(pieces).toString('utf8'))
  if (text !== undefined) return text
  const id = requestId(init)
  if (id === undefined) throw new TooLargeAnswerError()
  return JSON.stringify(tooLargeAnswer(id))
}

/** The server works, but this answer is over a limit. */
export class TooLargeAnswerError extends ToolExecutionError {
  constructor() {
    super('SERVICE_UNAVAILABLE', 'the server answered with more data than the limits allow')
  }
}

/** The id of the JSON-RPC request in a body that the SDK wrote. */
function requestId(init: RequestInit | undefined): string | number | undefined {
  try {
    return JSON.parse(String(init?.body)).id
  } catch {
    return undefined
  }
}

/** A stream is either that of a session, which has a pace, or the answer to the request with this id. */
interface StreamOf {
  readonly pace?: Pace
  readonly id?: string | number | undefined
}

const MIN_RETRY_MS = 100

/**
 * Passes on complete events whose data was checked. Rewrites them, so that the SDK can't read another event than
 * the checked one.
 */
class EventGuard implements Transformer<Uint8Array, Uint8Array> {
  readonly #of: StreamOf
  readonly #lines = new LineReader(MAX_MESSAGE_BYTES, {
    line: (bytes) => this.#line(bytes),
    excess: (bytes) => this.#excess(bytes),
    excessEnd: () => {
      this.#scanner = undefined
    },
  })
  #controller: TransformStreamDefaultController<Uint8Array> | undefined
  #scanner: AnswerScanner | undefined
  #isOver = false
  #bytes = 0
  #events = 0
  #lineCount = 0
  #size = 0
  #fields: string[] = []
  #data: string[] = []

  constructor(of: StreamOf) {
    this.#of = of
  }

  async transform(chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): Promise<void> {
    this.#controller = controller
    const [before, linesBefore] = [this.#events, this.#lineCount]
    this.#bytes += chunk.length
    this.#lines.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
    if (this.#of.pace !== undefined) {
      const lines = (this.#lineCount - linesBefore) / LINES_PER_EVENT
      await this.#of.pace.take(Math.max(this.#events - before, lines), chunk.length)
    } else if (this.#bytes > MAX_STREAM_BYTES) this.#end(`a stream of more than ${MAX_STREAM_BYTES} bytes`)
  }

  /** Lines end with LF, CRLF or CR. */
  #line(bytes: Buffer): void {
    const text = bytes.toString('utf8').replace(/^\ufeff/, '')
    for (const line of (text.endsWith('\r') ? text.slice(0, -1) : text).split('\r')) this.#field(line)
  }

  #field(line: string): void {
    if (this.#isOver) return
    if (++this.#lineCount > MAX_LINES && this.#of.pace === undefined) {
      this.#end(`more than ${MAX_LINES} lines`)
      return
    }
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (line === '') this.#dispatch()
    else if (name === 'data') this.#data.push(value)
    else if (name === 'id' || name === 'event') this.#fields.push(`${name}: ${value}\n`)
    else if (name === 'retry') this.#fields.push(`retry: ${Math.max(MIN_RETRY_MS, Number.parseInt(value, 10) || 0)}\n`)
    else return
    this.#size = line === '' ? 0 : this.#size + line.length
    if (this.#size > MAX_MESSAGE_BYTES) this.#end()
  }

  #dispatch(): void {
    const fields = this.#fields.splice(0).join('')
    const data = this.#data.splice(0)
    const isAnswer = this.#of.pace === undefined
    if (data.length > 0 && ++this.#events > MAX_EVENTS && isAnswer) {
      this.#end(`more than ${MAX_EVENTS} events`)
    } else if (data.length > 0) {
      const text = checkedText(data.join('\n'))
      if (text !== undefined) this.#write(`${fields}data: ${text.replaceAll('\n', '\ndata: ')}\n\n`)
      else if (isAnswer) this.#end()
    } else if (fields !== '') this.#write(`${fields}\n`)
  }

  /** Nothing is buffered: only the id of the answered request is read. */
  #excess(bytes: Buffer): void {
    if (this.#of.pace === undefined) {
      this.#end()
      return
    }
    const isFirst = this.#scanner === undefined
    this.#scanner ??= new AnswerScanner()
    const known = this.#scanner.answers
    this.#scanner.push(isFirst ? bytes.subarray('data:'.length) : bytes)
    const { answers } = this.#scanner
    if (known === undefined && answers !== undefined) this.#answer(tooLargeAnswer(answers))
  }

  #end(what?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const { id } = this.#of
    if (id === undefined) this.#controller?.error(new TooLargeAnswerError())
    else {
      this.#answer(tooLargeAnswer(id, what))
      this.#controller?.terminate()
    }
  }

  #answer(answer: JSONRPCErrorResponse): void {
    this.#write(`data: ${JSON.stringify(answer)}\n\n`)
  }

  #write(text: string): void {
    this.#controller?.enqueue(Buffer.from(text))
  }
}
