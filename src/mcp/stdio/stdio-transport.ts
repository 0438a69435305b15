import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { type Clock, systemClock, within } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { redactText } from '../../core/records/redact.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { cleanText } from './clean-text.ts'
import { MAX_MESSAGE_BYTES, MessageReader } from './message-reader.ts'
import { Pace } from './pace.ts'
import { endServer, type ServerCommand, startServer, Watchdog } from './start-server.ts'

const MAX_LINES = 20
const MAX_CHARACTERS = 4096
/** More than is shown: control sequences are removed, and characters can have several bytes. */
const TAIL_BYTES = 4 * MAX_CHARACTERS

export class StderrTail {
  #tail: Buffer = Buffer.alloc(0)
  #cut = false

  push(chunk: Buffer): void {
    this.#cut ||= this.#tail.length + chunk.length > TAIL_BYTES
    // Copies, because a slice would retain the whole chunk.
    this.#tail = Buffer.concat([
      this.#tail.subarray(-Math.max(1, TAIL_BYTES - chunk.length)),
      chunk.subarray(-TAIL_BYTES),
    ])
  }

  text(): string {
    const text = cleanText(this.#tail.toString('utf8'))
    const lines = text.split('\n').map((line) => line.trimEnd())
    // Without its beginning, a secret or a control sequence can't be recognized.
    if (this.#cut && lines.length > 1) lines.shift()
    const shown = lines.filter((line) => line !== '').slice(-MAX_LINES)
    return redactText(shown.join('\n'), TAIL_BYTES).slice(-MAX_CHARACTERS)
  }
}

const MAX_REPORTS = 20
const WINDOW_MS = 10_000
const MAX_TEXT = 500

/** Gets invalid output, cleaned and truncated. May return the tools that are being called, for the log. */
export type OnNoise = (text: string) => readonly string[] | undefined

/** Whether the log may hold what a server says, which can be the parameters of any call. */
export type MayQuote = () => boolean

/** Logs invalid output of a server: cleaned, truncated and rate-limited. */
export class NoiseReport {
  readonly #server: object
  readonly #log: Log
  readonly #onNoise: OnNoise | undefined
  readonly #clock: Clock
  readonly #mayQuote: MayQuote
  #since: number
  #reports = 0

  /** `server` is what the log says about the server. */
  constructor(server: object, log: Log, onNoise: OnNoise | undefined, clock: Clock, mayQuote: MayQuote = () => true) {
    this.#server = server
    this.#log = log
    this.#onNoise = onNoise
    this.#clock = clock
    this.#mayQuote = mayQuote
    this.#since = clock.now()
  }

  /** `what` is Toolyard's description, `content` the beginning of the server's output. */
  say(what: string, content: string, bytes?: number): void {
    if (this.#clock.now() - this.#since >= WINDOW_MS) this.#restart()
    if (++this.#reports > MAX_REPORTS) return
    const text = redactText(cleanText(content), MAX_TEXT)
    let calls: readonly string[] = []
    try {
      calls = this.#onNoise?.(text) ?? calls
    } catch {
      // A failing listener must not stop the reader.
    }
    const during = calls.length > 0 && { calls }
    const said = this.#mayQuote() ? { text } : bytes !== undefined && { bytes }
    writeLog(this.#log, 'warn', { ...this.#server, ...during, ...said }, `The MCP server wrote ${what}`)
  }

  #restart(): void {
    const left = this.#reports - MAX_REPORTS
    this.#since = this.#clock.now()
    this.#reports = 0
    if (left <= 0) return
    const message = `The MCP server wrote ${left} more invalid lines, which are not shown`
    writeLog(this.#log, 'warn', { ...this.#server }, message)
  }
}

const MAX_WAITING_BYTES = 8 * 1024 * 1024

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/** Writes lines to a server in batches, with a limited buffer. */
class LineWriter {
  readonly #stream: Writable
  readonly #limit: number
  #batch = ''
  #batchBytes = 0
  #waiting: Waiting[] = []
  #isOpen = true

  constructor(stream: Writable, limit = MAX_WAITING_BYTES) {
    this.#stream = stream
    this.#limit = limit
    stream.on('drain', () => {
      for (const { resolve } of this.#waiting.splice(0)) resolve()
    })
  }

  /** Returns a promise if the caller should wait before writing more. Throws if the line wasn't sent. */
  write(line: string): Promise<void> | undefined {
    if (!this.#isOpen || !this.#stream.writable)
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'The connection to the MCP server is closed')
    const bytes = Buffer.byteLength(line)
    const waiting = this.#stream.writableLength + this.#batchBytes
    if (waiting + bytes > this.#limit) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `The MCP server does not read its input: ${waiting} bytes are waiting, and a message of ${bytes} bytes would exceed the limit of ${this.#limit}`,
      )
    }
    if (this.#batch === '') process.nextTick(() => this.#flush())
    this.#batch += line
    this.#batchBytes += bytes
    if (!this.#stream.writableNeedDrain) return undefined
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  end(): void {
    if (!this.#isOpen) return
    this.#flush()
    this.#isOpen = false
    this.#stream.end()
  }

  /** Rejects all waiting callers: the stream has ended. */
  abandon(): void {
    this.#isOpen = false
    const error = new ToolExecutionError('SERVICE_UNAVAILABLE', 'The MCP server ended before it read the message', {
      outcome: 'unknown',
    })
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #flush(): void {
    if (this.#batch === '' || !this.#isOpen) return
    this.#stream.write(this.#batch)
    this.#batch = ''
    this.#batchBytes = 0
  }
}

/** The size of Node's largest reads. */
const FULL_CHUNK = 64 * 1024
/** Time to read the last output of a server; only a process outside its group can keep the pipe open. */
const DRAIN_MS = 200

export interface StdioTransportOptions extends ServerCommand {
  /** The server's name in the configuration, for the log. */
  readonly name?: string
  readonly log: Log
  /** Gets invalid output on stdout. */
  readonly onNoise?: OnNoise
  /** Without it, the log holds invalid output. */
  readonly mayQuote?: MayQuote | undefined
  /** Longer lines are skipped; a request that one answers fails at once (`isTooLarge`). */
  readonly maxLineBytes?: number
  readonly clock?: Clock
}

interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

type Streams = { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable }

/** Starts a server process and exchanges messages with it. Closing it, or killing this process, ends the whole process group. */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage']
  onerror?: Transport['onerror']
  onclose?: Transport['onclose']
  exit: ServerExit | undefined
  /** The SDK takes a transport without `stderr` and `pid` for HTTP. */
  readonly stderr = null
  readonly #options: StdioTransportOptions
  readonly #clock: Clock
  readonly #tail = new StderrTail()
  readonly #noise: NoiseReport
  readonly #reader: MessageReader
  readonly #pace: Pace
  /** Notifications and requests in the chunk that is being read. Answers to our requests are not limited. */
  #asked = 0
  #starting: Promise<ChildProcess> | undefined
  #server: (ChildProcess & Streams) | undefined
  #writer: LineWriter | undefined
  #watchdog: Watchdog | undefined
  /** Resolves when the server ended and all its output was read. */
  #allRead: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(options: StdioTransportOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#pace = new Pace(this.#clock)
    this.#noise = new NoiseReport(
      { server: options.name, command: options.command },
      options.log,
      options.onNoise,
      this.#clock,
      options.mayQuote,
    )
    this.#reader = new MessageReader(options.maxLineBytes ?? MAX_MESSAGE_BYTES, {
      message: (message) => this.#deliver(message),
      noise: (what, text, bytes) => this.#noise.say(what, text, bytes),
    })
  }

  get pid(): number | null {
    return this.#server?.pid ?? null
  }

  /** The last lines of stderr, cleaned and truncated. */
  stderrTail(): string {
    return this.#tail.text()
  }

  async start(): Promise<void> {
    if (this.#starting !== undefined || this.#closing !== undefined) {
      throw new Error('A StdioTransport can be started only once: create a new one')
    }
    this.#starting = startServer(this.#options)
    const server = (await this.#starting) as ChildProcess & Streams
    this.#server = server
    if (process.platform !== 'win32') this.#watchdog = new Watchdog(server.pid as number, this.#options.log)
    this.#writer = new LineWriter(server.stdin)
    this.#listen(server)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#writer === undefined) {
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', `The MCP server "${this.#options.command}" is not started`)
    }
    const room = this.#writer.write(`${JSON.stringify(message)}\n`)
    if (room !== undefined) await room
  }

  /** Ends the server and its child processes within two seconds. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  #listen(server: ChildProcess & Streams): void {
    const end = (): void => void this.close()
    this.#allRead = new Promise((resolve) => void server.once('close', () => resolve()))
    server.on('error', (error) => this.#fail(error))
    server.once('exit', (code, signal) => {
      this.exit = { code, signal }
      end()
    })
    // Without its input or output a server is useless, even if it still runs.
    server.stdin.on('error', end)
    server.stdout.on('error', end)
    server.stdout.on('end', end)
    server.stdout.on('data', (chunk: Buffer) => {
      const isFull = chunk.length >= FULL_CHUNK
      this.#asked = 0
      this.#reader.push(chunk)
      const wait = this.#asked > 0 && this.#closing === undefined ? this.#pace.take(this.#asked, 0) : undefined
      if (!isFull && wait === undefined) return
      // A server that writes faster than we read would block the event loop.
      server.stdout.pause()
      if (wait === undefined) setImmediate(() => server.stdout.resume())
      else void wait.then(() => server.stdout.resume())
    })
    server.stderr.on('data', (chunk: Buffer) => this.#tail.push(chunk))
    server.stderr.on('error', () => {})
  }

  #deliver(message: JSONRPCMessage): void {
    if ('method' in message) this.#asked++
    try {
      this.onmessage?.(message)
    } catch (error) {
      // The SDK throws when it quotes a deeply nested message.
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    try {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    } catch {
      // An error handler must not stop the transport.
    }
  }

  async #end(): Promise<void> {
    await this.#starting?.catch(() => {})
    const server = this.#server
    if (server !== undefined) {
      this.#writer?.end()
      // Its last answers may stand behind what it was slowed down for.
      server.stdout.resume()
      await endServer(server, this.#clock)
      await within(DRAIN_MS, this.#allRead, this.#clock)
      for (const stream of [server.stdin, server.stdout, server.stderr]) stream.destroy()
      this.#reader.end()
      this.#writer?.abandon()
      await this.#watchdog?.stop()
    }
    try {
      this.onclose?.()
    } catch (error) {
      this.#fail(error)
    }
  }
}
