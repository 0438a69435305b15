import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { endServer } from './end-server.ts'
import { LineWriter } from './line-writer.ts'
import { MessageReader } from './message-reader.ts'
import { NoiseReport } from './noise-report.ts'
import { type ServerCommand, startServer } from './start-server.ts'
import { StderrTail } from './stderr-tail.ts'
import { Watchdog } from './watchdog.ts'
import { within } from './within.ts'

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
