import { setImmediate } from 'node:timers/promises'
import type { CallToolResult, Client, ServerCapabilities, Tool } from '@modelcontextprotocol/client'
import { pause } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { readMedia, ToolExecutionError } from '../../core/tool-result.ts'
import type { MayQuote } from '../stdio/stdio-transport.ts'
import type { ConnectFailure } from './failures.ts'
import type { Era, OpenClient } from './open-client.ts'
import {
  MCP_BACKGROUND_DELAY,
  MCP_BACKGROUND_MAX_DELAY,
  MCP_RETRY_ATTEMPTS,
  MCP_RETRY_BASE_DELAY,
  type McpServerSettings,
  retryDelay,
  type TokenSupply,
} from './server-settings.ts'
import type { TrafficLog } from './traffic-log.ts'

interface ConnectionStanding extends Recorded {
  /** `not_reachable`: not connected and no attempt is running. */
  readonly state: 'connected' | 'connecting' | 'not_reachable'
  readonly transport: 'stdio' | 'http' | 'sse'
}

interface Recorded {
  /** Attempts since the connection was lost or restarted, with the one that succeeded. */
  readonly attempts: number
  /** When the connection was last made or lost, in milliseconds since 1970. */
  readonly since: number | undefined
  readonly nextAttemptInMs: number | undefined
  /** The last problem, without secrets; it stays after the connection recovers. */
  readonly problem: { readonly text: string; readonly at: number } | undefined
  /** The last lines of the server's stderr, cleaned and truncated. */
  readonly stderr: string
}

class ConnectionRecord {
  readonly #clock: Clock
  #attempts = 0
  #since: number | undefined
  #nextAt: number | undefined
  #problem: Recorded['problem']
  #stderr = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  attempted(): void {
    this.#attempts++
  }

  connected(): void {
    this.#since = this.#clock.wall()
  }

  failed({ told, stderr }: ConnectFailure): void {
    this.#problem = { text: told, at: this.#clock.wall() }
    if (stderr !== '') this.#stderr = stderr
  }

  lost(stderr: string): void {
    this.#attempts = 0
    this.#since = this.#clock.wall()
    this.#problem = { text: 'the connection was lost', at: this.#since }
    this.#stderr = stderr
  }

  /** A running attempt counts as the first one. */
  restarted(isAttemptRunning: boolean): void {
    this.#attempts = isAttemptRunning ? 1 : 0
  }

  /** Without a time, no attempt is scheduled. */
  scheduled(ms?: number): void {
    this.#nextAt = ms === undefined ? undefined : this.#clock.now() + ms
  }

  read(): Recorded {
    return {
      attempts: this.#attempts,
      since: this.#since,
      nextAttemptInMs: this.#nextAt === undefined ? undefined : Math.max(0, this.#nextAt - this.#clock.now()),
      problem: this.#problem,
      stderr: this.#stderr,
    }
  }
}

/** A connection that ends sooner is short. After two short ones in a row, Toolyard waits before it opens another one. */
const STABLE_MS = 10_000
const FREE_RESTARTS = 2

/** Calls within this time after a failed attempt fail with it instead of making another. */
const FRESH_FAILURE_MS = 1_000

export interface ConnectionParts {
  readonly log: Log
  readonly clock: Clock
  /** Called with every new connection before calls use it. */
  readonly onConnected: (client: Client, signal: AbortSignal) => Promise<void>
  readonly onChanged: (list: 'tools' | 'resources' | 'prompts') => void
  /** Called after every failed attempt. */
  readonly onFailed?: () => void
  readonly onGivenUp: (failure: ConnectFailure) => void
  readonly authProvider?: (() => Promise<TokenSupply | undefined>) | undefined
  readonly extend?: ((client: Client) => void) | undefined
  /** Without it, the log holds what the server says. */
  readonly mayQuote?: MayQuote | undefined
}

export interface ServerCall {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  readonly onProgress: (progress: unknown) => void
  readonly definition?: Tool
  readonly traceparent?: string | undefined
  /** Added to the `_meta` of the request. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
}

/** The connection to one server: opened on demand and reopened when it is lost. */
export class McpConnection {
  readonly settings: McpServerSettings
  readonly #parts: ConnectionParts
  readonly #closing = new AbortController()
  #live: OpenClient | undefined
  #attempt: Promise<OpenClient> | undefined
  #lastFailure: { readonly error: ConnectFailure; readonly atMs: number } | undefined
  #era: Era | undefined
  #openedMs = 0
  #shortConnections = 0
  #authProvider: Promise<TokenSupply | undefined> | undefined
  readonly #calls: string[] = []
  readonly #record: ConnectionRecord
  #recovery: Promise<void> | undefined
  #round: AbortController | undefined
  #eventsRead: Promise<void> | undefined
  /** Created with the first attempt. */
  #traffic: TrafficLog | undefined

  constructor(settings: McpServerSettings, parts: ConnectionParts) {
    this.settings = settings
    this.#parts = parts
    this.#record = new ConnectionRecord(parts.clock)
  }

  get connected(): boolean {
    return this.#live !== undefined
  }

  get capabilities(): ServerCapabilities | undefined {
    return this.#live?.client.getServerCapabilities()
  }

  /** The last messages; undefined before the first attempt. */
  get traffic(): TrafficLog | undefined {
    return this.#traffic
  }

  /** The last failure, until an attempt succeeds. */
  get failure(): ConnectFailure | undefined {
    return this.#lastFailure?.error
  }

  standing(): ConnectionStanding {
    const { reach } = this.settings
    const live = this.#live
    const state = live !== undefined ? 'connected' : this.#attempt !== undefined ? 'connecting' : 'not_reachable'
    const sse = reach.type === 'sse' || this.#era?.sse === true
    const transport = reach.type === 'stdio' ? 'stdio' : sse ? 'sse' : 'http'
    return { state, transport, ...this.#record.read(), ...(live !== undefined && { stderr: live.stderrTail() }) }
  }

  /** Makes the foreground attempts, then continues in the background. Never rejects. */
  start(): Promise<void> {
    this.#recovery ??= this.#recover()
    return this.#recovery
  }

  /** Closes the connection and opens a new one without waiting for the next scheduled attempt. */
  async reconnect(): Promise<void> {
    this.#round?.abort(new Error('The connection restarts'))
    this.#recovery = undefined
    const live = this.#live
    this.#live = undefined
    this.#shortConnections = 0
    this.#record.restarted(this.#attempt !== undefined)
    this.#parts.log.info({ server: this.settings.name }, 'Reconnecting to MCP server (requested)')
    // Two instances of a server could conflict.
    await live?.close().catch(() => {})
    if (!this.#closing.signal.aborted) await this.start()
  }

  /** Returns the live connection, or opens one. */
  async client(signal: AbortSignal): Promise<Client> {
    if (this.#live !== undefined) return this.#live.client
    const { clock } = this.#parts
    const failed = this.#lastFailure
    const isFresh = failed !== undefined && clock.now() - failed.atMs < FRESH_FAILURE_MS
    if (isFresh && this.#attempt === undefined) throw failed.error
    return (await untilAborted(this.#connect(), signal)).client
  }

  /** Calls a tool. A request that can't have arrived is sent once more over a new connection. */
  async call({ tool, arguments: args, signal, onProgress, definition, ...call }: ServerCall): Promise<unknown> {
    const _meta = { ...call.meta, ...(call.traceparent && { traceparent: call.traceparent }) }
    for (let repeated = false; ; repeated = true) {
      // An idle server may have exited, with its exit event not yet processed.
      if (this.#calls.length === 0) await this.#readEvents()
      const client = await this.client(signal)
      this.#calls.push(tool)
      try {
        const options = {
          signal,
          onprogress: onProgress,
          timeout: MAX_TIMEOUT_MS,
          ...(definition && { toolDefinition: definition }),
        }
        const params = { name: tool, arguments: { ...args }, ...(Object.keys(_meta).length > 0 && { _meta }) }
        return callValue(await client.callTool(params, options))
      } catch (thrown) {
        if (thrown instanceof ToolExecutionError || signal.aborted) throw thrown
        const fault = (await sdk()).callFault(thrown)
        if (fault.kind !== 'lost') throw fault.error
        const stderr = this.#drop(client)
        if (fault.sent || repeated) throw lost(this.settings.name, tool, stderr, fault.sent)
      } finally {
        this.#calls.splice(this.#calls.indexOf(tool), 1)
      }
    }
  }

  /** Sends another request than a call, once. Drops the connection if it is broken. */
  async request<T>(send: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T> {
    const client = await this.client(signal)
    try {
      return await send(client)
    } catch (thrown) {
      if (!signal.aborted && (await sdk()).callFault(thrown).kind === 'lost') {
        this.#drop(client)
        const message = `The connection to MCP server '${this.settings.name}' was lost`
        throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
      }
      throw thrown
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new ToolExecutionError('SERVICE_UNAVAILABLE', `MCP server '${this.settings.name}' was closed`))
    const live = this.#live
    this.#live = undefined
    await Promise.all([live?.close(), this.#attempt?.then((made) => made.close()).catch(() => {})])
  }

  async #recover(): Promise<void> {
    const round = new AbortController()
    this.#round = round
    const signal = AbortSignal.any([this.#closing.signal, round.signal])
    const done = (): void => {
      if (this.#round === round) this.#recovery = undefined
    }
    try {
      if (await this.#tryNow(signal)) return done()
    } catch {
      // Closed or restarted.
      return done()
    }
    if (this.#lastFailure !== undefined) this.#parts.onGivenUp(this.#lastFailure.error)
    this.#tryInBackground(signal)
      .catch(() => {})
      .finally(done)
  }

  async #tryNow(signal: AbortSignal): Promise<boolean> {
    const { log } = this.#parts
    const server = this.settings.name
    for (let attempt = 1; attempt <= MCP_RETRY_ATTEMPTS; attempt++) {
      const delay_ms = attempt === 1 ? this.#restartDelay() : retryDelay(attempt)
      if (delay_ms > 0) await this.#pause(delay_ms, signal)
      if (this.connected) return true
      log.info({ server, attempt, delay_ms }, `MCP connection attempt ${attempt} of ${MCP_RETRY_ATTEMPTS}`)
      try {
        await this.#connect()
        log.info({ server, attempt }, `MCP connection succeeded on attempt ${attempt}`)
        return true
      } catch (error) {
        if (signal.aborted) throw error
        log.warn({ server, attempt, reason: String(error) }, `MCP connection attempt ${attempt} failed`)
      }
    }
    return false
  }

  /** A program that exits after every handshake must not be started over and over. */
  #restartDelay(): number {
    const excess = this.#shortConnections - FREE_RESTARTS
    return excess <= 0 ? 0 : Math.min(MCP_RETRY_BASE_DELAY * 2 ** (excess - 1), MCP_BACKGROUND_MAX_DELAY)
  }

  async #tryInBackground(signal: AbortSignal): Promise<void> {
    for (let delay = MCP_BACKGROUND_DELAY; ; delay = Math.min(delay * 2, MCP_BACKGROUND_MAX_DELAY)) {
      await this.#pause(delay, signal)
      if (this.connected) return
      try {
        await this.#connect()
        this.#parts.log.info({ server: this.settings.name }, 'MCP connection succeeded in the background')
        return
      } catch (error) {
        if (signal.aborted) throw error
      }
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    this.#record.scheduled(ms)
    try {
      await pause(ms, this.#parts.clock, signal)
    } finally {
      this.#record.scheduled()
    }
  }

  /** Waits one turn of the event loop, shared by calls that start together: they are then sent together. */
  #readEvents(): Promise<void> {
    this.#eventsRead ??= setImmediate().then(() => {
      this.#eventsRead = undefined
    })
    return this.#eventsRead
  }

  /** Callers share a running attempt. */
  #connect(): Promise<OpenClient> {
    this.#attempt ??= this.#open().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  async #open(): Promise<OpenClient> {
    const { log, clock, onConnected, onChanged, extend, mayQuote } = this.#parts
    const { signal } = this.#closing
    try {
      signal.throwIfAborted()
      this.#record.attempted()
      const { openClient, TrafficLog } = await sdk()
      this.#traffic ??= new TrafficLog(clock)
      // Shared by all connections, so that tokens are renewed once.
      this.#authProvider ??= Promise.resolve(this.#parts.authProvider?.())
      const authProvider = await this.#authProvider
      const calls = (): readonly string[] => [...new Set(this.#calls)]
      const traffic = this.#traffic
      const parts = { log, clock, signal, era: this.#era, onChanged, authProvider, extend, traffic, calls, mayQuote }
      const opened = await openClient(this.settings, parts)
      this.#era = opened.era
      opened.client.onclose = () => this.#lost(opened)
      await onConnected(opened.client, signal).catch(async (error: unknown) => {
        await opened.close()
        throw error
      })
      signal.throwIfAborted()
      this.#live = opened
      this.#openedMs = clock.now()
      this.#record.connected()
      this.#lastFailure = undefined
      return opened
    } catch (error) {
      const { connectFailure, nextEra } = await sdk()
      const failure = connectFailure(this.settings, error, '')
      this.#era = nextEra(this.settings, this.#era, failure)
      this.#lastFailure = { error: failure, atMs: clock.now() }
      this.#record.failed(failure)
      this.#parts.onFailed?.()
      throw failure
    }
  }

  /** Drops a broken connection and returns the server's last output. */
  #drop(client: Client): string {
    const live = this.#live
    if (live?.client !== client) return ''
    const stderr = live.stderrTail()
    this.#lost(live)
    return stderr
  }

  #lost(opened: OpenClient): void {
    if (this.#live !== opened) return
    this.#live = undefined
    const lastedMs = this.#parts.clock.now() - this.#openedMs
    this.#shortConnections = lastedMs < STABLE_MS ? this.#shortConnections + 1 : 0
    this.#record.lost(opened.stderrTail())
    opened.close().catch(() => {})
    if (this.#closing.signal.aborted) return
    this.#parts.log.warn({ server: this.settings.name }, 'MCP connection lost')
    void this.start()
  }
}

/** The SDK takes 0.2 s to load, so the first connection loads it. */
const sdk = () => import('./open-client.ts')

/** The executor sets the deadline. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

function lost(server: string, tool: string, stderr: string, sent: boolean): ToolExecutionError {
  const output = stderr === '' ? '' : ` MCP Server stderr: ${stderr}`
  const message = `The service behind tool '${tool}' is unavailable: the connection to MCP server '${server}' was lost.${output}`
  return new ToolExecutionError('SERVICE_UNAVAILABLE', message, sent ? { outcome: 'unknown' } : {})
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** The result of a call: all of it if it contains media, else structured content, else text. Throws the server's error unchanged. */
export function callValue({ content = [], structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map((block) => (block.type === 'text' ? block.text : undefined))
  const allText = texts.every((text) => text !== undefined)
  if (isError) {
    const text = texts.filter((one) => one !== undefined).join('\n')
    throw new ToolExecutionError('EXECUTION_ERROR', text || 'The server reported an error without a message')
  }
  const hasMedia = content.some((block) => readMedia(block) !== undefined)
  if (structuredContent !== undefined) return hasMedia ? { content, structuredContent } : structuredContent
  if (content.length === 0) return null
  return allText ? texts.join('\n') : { content }
}
