import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { redactText } from '../../core/redact.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { cleanText } from './clean-text.ts'
import { MessageReader } from './message-reader.ts'
import { endServer, type ServerCommand, startServer, Watchdog } from './start-server.ts'
import { within } from './within.ts'

const MAX_LINES = 20
const MAX_CHARACTERS = 4096
/** More than is shown, because control sequences and characters of several bytes go into it. */
const KEPT_BYTES = 4 * MAX_CHARACTERS

/** The last words of a server, whatever the amount of them. */
export class StderrTail {
  #kept: Buffer = Buffer.alloc(0)
  #cut = false

  push(chunk: Buffer): void {
    this.#cut ||= this.#kept.length + chunk.length > KEPT_BYTES
    // Copied, or a short tail would hold the whole of a long chunk.
    this.#kept = Buffer.concat([
      this.#kept.subarray(-Math.max(1, KEPT_BYTES - chunk.length)),
      chunk.subarray(-KEPT_BYTES),
    ])
  }

  /** Bounded, and without control sequences and what looks like a secret. */
  text(): string {
    const text = cleanText(this.#kept.toString('utf8'))
    const lines = text.split('\n').map((line) => line.trimEnd())
    // The first line may have lost its beginning, and with it what would tell a secret or a control sequence.
    if (this.#cut && lines.length > 1) lines.shift()
    const shown = lines.filter((line) => line !== '').slice(-MAX_LINES)
    return redactText(shown.join('\n'), KEPT_BYTES).slice(-MAX_CHARACTERS)
  }
}

const MOST_REPORTS = 20
const WINDOW_MS = 10_000
const LONGEST_TEXT = 500

/** Says what a server wrote where it should not have: clean, bounded, and not without end. */
export class NoiseReport {
  readonly #command: string
  readonly #log: Log
  readonly #onNoise: ((text: string) => void) | undefined
  readonly #clock: Clock
  #since: number
  #reports = 0

  constructor(command: string, log: Log, onNoise: ((text: string) => void) | undefined, clock: Clock) {
    this.#command = command
    this.#log = log
    this.#onNoise = onNoise
    this.#clock = clock
    this.#since = clock.now()
  }

  /** `what` is ours, `content` the server's. */
  say(what: string, content: string): void {
    if (this.#clock.now() - this.#since >= WINDOW_MS) this.#beginAnew()
    if (++this.#reports > MOST_REPORTS) return
    const text = redactText(cleanText(content), LONGEST_TEXT)
    writeLog(this.#log, 'warn', { command: this.#command, text }, `The MCP server wrote ${what}`)
    try {
      this.#onNoise?.(text)
    } catch {
      // Who listens may fail; reading goes on.
    }
  }

  #beginAnew(): void {
    const left = this.#reports - MOST_REPORTS
    this.#since = this.#clock.now()
    this.#reports = 0
    if (left <= 0) return
    const message = `The MCP server wrote ${left} more lines of that sort, which are not shown`
    writeLog(this.#log, 'warn', { command: this.#command }, message)
  }
}

/** So much may wait for a server that does not read. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/** Writes lines to a server, those of one turn at once, and never keeps more than a bounded amount of them. */
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

  /** Gives a promise where there is no room for more until it settles. Throws where the line was refused: it was not sent. */
  write(line: string): Promise<void> | undefined {
    if (!this.#isOpen || !this.#stream.writable)
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'The connection to the MCP server is closed')
    const bytes = Buffer.byteLength(line)
    const waiting = this.#stream.writableLength + this.#batchBytes
    if (waiting + bytes > this.#limit) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `The MCP server does not read: a message of ${bytes} bytes cannot wait behind ${waiting} (at most ${this.#limit} in all)`,
      )
    }
    if (this.#batch === '') process.nextTick(() => this.#flush())
    this.#batch += line
    this.#batchBytes += bytes
    if (!this.#stream.writableNeedDrain) return undefined
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Sends what is left, and the end. */
  end(): void {
    if (!this.#isOpen) return
    this.#flush()
    this.#isOpen = false
    this.#stream.end()
  }

  /** The stream is gone; who waits for it waits no longer. */
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

const MAX_LINE_BYTES = 10 * 1024 * 1024
/** What Node reads at once where there is plenty. */
const FULL_CHUNK = 64 * 1024
/** How long the last output of a server that has ended may take; only a process that left its group can hold it open. */
const DRAIN_MS = 200

export interface StdioTransportOptions extends ServerCommand {
  readonly log: Log
  /** Told, clean and bounded, what the server wrote on stdout that is no message. */
  readonly onNoise?: (text: string) => void
  /** A longer line is skipped; a request that it answers fails at once (`isTooLarge`). */
  readonly maxLineBytes?: number
  readonly clock?: Clock
}

/** How a process ended. */
export interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

type Streams = { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable }

/** Speaks MCP with a process that it starts, and of which nothing is left when it is closed, or when we are killed. */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage']
  onerror?: Transport['onerror']
  onclose?: Transport['onclose']
  /** How the server ended, once it has. */
  exit: ServerExit | undefined
  /** Is there, like `pid`, because the SDK takes a transport without it for HTTP; the text is in `stderrTail()`. */
  readonly stderr = null
  readonly #options: StdioTransportOptions
  readonly #clock: Clock
  readonly #tail = new StderrTail()
  readonly #noise: NoiseReport
  readonly #reader: MessageReader
  #starting: Promise<ChildProcess> | undefined
  #server: (ChildProcess & Streams) | undefined
  #writer: LineWriter | undefined
  #watchdog: Watchdog | undefined
  /** The server has ended, and all that it wrote has been read. */
  #allRead: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(options: StdioTransportOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#noise = new NoiseReport(options.command, options.log, options.onNoise, this.#clock)
    this.#reader = new MessageReader(options.maxLineBytes ?? MAX_LINE_BYTES, {
      message: (message) => this.#deliver(message),
      noise: (what, text) => this.#noise.say(what, text),
    })
  }

  get pid(): number | null {
    return this.#server?.pid ?? null
  }

  /** The last lines that the server wrote on stderr, clean and bounded. */
  stderrTail(): string {
    return this.#tail.text()
  }

  async start(): Promise<void> {
    if (this.#starting !== undefined || this.#closing !== undefined) {
      throw new Error('A StdioTransport is started once; make a new one')
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

  /** Ends the server and everything it started, within two seconds. */
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
    // Without its input or its output a server is of no use, even where it lives on.
    server.stdin.on('error', end)
    server.stdout.on('error', end)
    server.stdout.on('end', end)
    server.stdout.on('data', (chunk: Buffer) => {
      const isFull = chunk.length >= FULL_CHUNK
      this.#reader.push(chunk)
      if (!isFull) return
      // A server that writes faster than we read would have Node read on and on; everything else gets its turn first.
      server.stdout.pause()
      setImmediate(() => server.stdout.resume())
    })
    server.stderr.on('data', (chunk: Buffer) => this.#tail.push(chunk))
    server.stderr.on('error', () => {})
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (error) {
      // The SDK puts a message that it cannot use in the text of an error, and one that is deep enough breaks that.
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    try {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    } catch {
      // There is nobody left to tell.
    }
  }

  async #end(): Promise<void> {
    await this.#starting?.catch(() => {})
    const server = this.#server
    if (server !== undefined) {
      this.#writer?.end()
      await endServer(server, this.#clock)
      await within(DRAIN_MS, this.#clock, this.#allRead)
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
