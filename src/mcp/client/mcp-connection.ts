import type { CallToolResult, Client, ServerCapabilities, Tool } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { ConnectFailure } from './connect-failure.ts'
import { ConnectionRecord, type ConnectionStanding } from './connection-record.ts'
import type { Era, OpenClient } from './open-client.ts'
import { MCP_BACKGROUND_DELAY, MCP_BACKGROUND_MOST, MCP_RETRY_ATTEMPTS, retryDelay } from './retry-plan.ts'
import type { McpServerSettings } from './server-settings.ts'
import type { TokenSupply } from './token-supply.ts'

interface RecoveryParts {
  readonly server: string
  readonly log: Log
  readonly clock: Clock
  readonly record: ConnectionRecord
  /** Aborts when there is to be no connection any more. */
  readonly closing: AbortSignal
  readonly isConnected: () => boolean
  /** One attempt. */
  readonly connect: () => Promise<unknown>
  /** Called when the first attempts have all failed. */
  readonly onGivenUp: () => void
}

/** Tries to make a connection, as often as the plan says, and then in the background, until it is there. */
class Recovery {
  readonly #parts: RecoveryParts
  #running: Promise<void> | undefined
  /** Ends the pauses of the one that runs. */
  #round: AbortController | undefined

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Ends when the plan has been gone through; one that runs already is joined. Never rejects. */
  start(): Promise<void> {
    this.#running ??= this.#recover()
    return this.#running
  }

  /** Calls off the one that runs: the next start begins at the first attempt. */
  callOff(): void {
    this.#round?.abort(new Error('It begins anew'))
    this.#running = undefined
  }

  async #recover(): Promise<void> {
    const round = new AbortController()
    this.#round = round
    const signal = AbortSignal.any([this.#parts.closing, round.signal])
    const over = (): void => {
      if (this.#round === round) this.#running = undefined
    }
    try {
      if (await this.#tryPlan(signal)) return over()
    } catch {
      // Only closing, or beginning anew, ends the pauses.
      return over()
    }
    this.#parts.onGivenUp()
    this.#tryInBackground(signal)
      .catch(() => {})
      .finally(over)
  }

  async #tryPlan(signal: AbortSignal): Promise<boolean> {
    const { server, log, isConnected, connect } = this.#parts
    for (let attempt = 1; attempt <= MCP_RETRY_ATTEMPTS; attempt++) {
      const delay_ms = retryDelay(attempt)
      if (delay_ms > 0) await this.#pause(delay_ms, signal)
      if (isConnected()) return true
      log.info({ server, attempt, delay_ms }, `MCP connection attempt ${attempt} of ${MCP_RETRY_ATTEMPTS}`)
      try {
        await connect()
        log.info({ server, attempt }, `MCP connection succeeded on attempt ${attempt}`)
        return true
      } catch (error) {
        if (signal.aborted) throw error
        log.warn({ server, attempt, reason: String(error) }, `MCP connection attempt ${attempt} failed`)
      }
    }
    return false
  }

  async #tryInBackground(signal: AbortSignal): Promise<void> {
    const { server, log, isConnected, connect } = this.#parts
    for (let delay = MCP_BACKGROUND_DELAY; ; delay = Math.min(delay * 2, MCP_BACKGROUND_MOST)) {
      await this.#pause(delay, signal)
      if (isConnected()) return
      try {
        await connect()
        log.info({ server }, 'MCP connection succeeded in the background')
        return
      } catch (error) {
        if (signal.aborted) throw error
      }
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { record, clock } = this.#parts
    record.waits(ms)
    try {
      await pause(ms, clock, signal)
    } finally {
      record.waits()
    }
  }
}

/** An attempt that failed a moment ago answers for the calls that come right after it. */
const FRESH_FAILURE_MS = 1_000

export interface ConnectionParts {
  readonly log: Log
  readonly clock: Clock
  /** Called with every connection that is made, before calls use it, and when the server says that its lists have changed. */
  readonly onConnected: (client: Client, signal: AbortSignal) => Promise<void>
  readonly onChanged: (list: 'tools' | 'resources' | 'prompts') => void
  /** Called when the first attempts have all failed. */
  readonly onGivenUp: (failure: ConnectFailure) => void
  readonly authProvider?: (() => Promise<TokenSupply | undefined>) | undefined
  readonly extend?: ((client: Client) => void) | undefined
}

/** What one call needs to know. */
export interface ServerCall {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  readonly onProgress: (progress: unknown) => void
  /** The tool as the server listed it. */
  readonly definition?: Tool
  /** The trace that the call belongs to. */
  readonly traceparent?: string | undefined
}

/** The line to one server: made when it is needed, made anew when it is lost, and tried again when it could not be made. */
export class McpConnection {
  readonly settings: McpServerSettings
  readonly #parts: ConnectionParts
  readonly #closing = new AbortController()
  #live: OpenClient | undefined
  #attempt: Promise<OpenClient> | undefined
  #lastFailure: { readonly error: ConnectFailure; readonly atMs: number } | undefined
  #era: Era | undefined
  #authProvider: Promise<TokenSupply | undefined> | undefined
  /** Those under way. */
  #calls = 0
  readonly #record: ConnectionRecord
  readonly #recovery: Recovery
  #news: Promise<void> | undefined

  constructor(settings: McpServerSettings, parts: ConnectionParts) {
    this.settings = settings
    this.#parts = parts
    this.#record = new ConnectionRecord(parts.clock)
    this.#recovery = new Recovery({
      server: settings.name,
      log: parts.log,
      clock: parts.clock,
      record: this.#record,
      closing: this.#closing.signal,
      isConnected: () => this.connected,
      connect: () => this.#connect(),
      onGivenUp: () => {
        if (this.#lastFailure !== undefined) parts.onGivenUp(this.#lastFailure.error)
      },
    })
  }

  get connected(): boolean {
    return this.#live !== undefined
  }

  /** What the server can do, where it is connected. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#live?.client.getServerCapabilities()
  }

  /** Why there is no connection, where the last attempt failed. */
  get failure(): ConnectFailure | undefined {
    return this.#lastFailure?.error
  }

  /** How it stands, for those who look after it. */
  standing(): ConnectionStanding {
    const { reach } = this.settings
    const live = this.#live
    const state = live !== undefined ? 'connected' : this.#attempt !== undefined ? 'connecting' : 'not_reachable'
    const sse = reach.type === 'sse' || this.#era?.sse === true
    const transport = reach.type === 'stdio' ? 'stdio' : sse ? 'sse' : 'http'
    return { state, transport, ...this.#record.read(), ...(live !== undefined && { stderr: live.stderrTail() }) }
  }

  /** Tries to connect, as often as the plan says, and goes on in the background where that fails. Never rejects. */
  start(): Promise<void> {
    return this.#recovery.start()
  }

  /** Lets go of the connection that there is, and makes one now: nothing is waited for that the plan would wait for. */
  async reconnect(): Promise<void> {
    this.#recovery.callOff()
    const live = this.#live
    this.#live = undefined
    this.#record.renewed(this.#attempt !== undefined)
    this.#parts.log.info({ server: this.settings.name }, 'MCP connection is made anew, as asked')
    // Two of them at once may be in each other's way.
    await live?.close().catch(() => {})
    if (!this.#closing.signal.aborted) await this.start()
  }

  /** A connection that works as far as is known: the live one, else one that is made now. */
  async client(signal: AbortSignal): Promise<Client> {
    if (this.#live !== undefined) return this.#live.client
    const { clock } = this.#parts
    const failed = this.#lastFailure
    const waits = this.#attempt === undefined && failed !== undefined && clock.now() - failed.atMs < FRESH_FAILURE_MS
    if (waits) throw failed.error
    return (await untilAborted(this.#connect(), signal)).client
  }

  /** Calls a tool. A request that cannot have arrived is sent again over a new connection, once. */
  async call({ tool, arguments: args, signal, onProgress, definition, traceparent }: ServerCall): Promise<unknown> {
    for (let repeated = false; ; repeated = true) {
      // News of a server that ended while nobody called it may be waiting to be read.
      if (this.#calls === 0) await this.#newsRead()
      const client = await this.client(signal)
      this.#calls++
      try {
        const options = {
          signal,
          onprogress: onProgress,
          timeout: LONGEST,
          ...(definition && { toolDefinition: definition }),
        }
        const params = { name: tool, arguments: { ...args }, ...(traceparent && { _meta: { traceparent } }) }
        return callValue(await client.callTool(params, options))
      } catch (thrown) {
        if (thrown instanceof ToolExecutionError || signal.aborted) throw thrown
        const fault = (await sdkParts()).callFault(thrown)
        if (fault.kind === 'answered') throw fault.error
        if (fault.kind === 'other') throw fault.error
        const stderr = this.#drop(client)
        if (fault.sent || repeated) throw lost(this.settings.name, tool, stderr, fault.sent)
      } finally {
        this.#calls--
      }
    }
  }

  /** Ends the server, and everything that is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new ToolExecutionError('SERVICE_UNAVAILABLE', `MCP server '${this.settings.name}' was closed`))
    const live = this.#live
    this.#live = undefined
    await Promise.all([live?.close(), this.#attempt?.then((made) => made.close()).catch(() => {})])
  }

  /** One turn of the event loop, the same for all who begin in it: they then go on together, and are sent at once. */
  #newsRead(): Promise<void> {
    this.#news ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#news = undefined
        resolve()
      })
    })
    return this.#news
  }

  /** One attempt, for all who want a connection now. */
  #connect(): Promise<OpenClient> {
    this.#attempt ??= this.#open().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  async #open(): Promise<OpenClient> {
    const { log, clock, onConnected, onChanged, extend } = this.#parts
    const { signal } = this.#closing
    try {
      signal.throwIfAborted()
      this.#record.attempted()
      const { openClient } = await sdkParts()
      // One for all connections: those who wait for new tokens wait for the same.
      this.#authProvider ??= Promise.resolve(this.#parts.authProvider?.())
      const authProvider = await this.#authProvider
      const parts = { log, clock, signal, era: this.#era, onChanged, authProvider, extend }
      const opened = await openClient(this.settings, parts)
      this.#era = opened.era
      opened.client.onclose = () => this.#lost(opened)
      await onConnected(opened.client, signal).catch(async (error: unknown) => {
        await opened.close()
        throw error
      })
      signal.throwIfAborted()
      this.#live = opened
      this.#record.connected()
      this.#lastFailure = undefined
      return opened
    } catch (error) {
      const { connectFailure, nextEra } = await sdkParts()
      const failure = connectFailure(this.settings, error, '')
      this.#era = nextEra(this.settings, this.#era, failure)
      this.#lastFailure = { error: failure, atMs: clock.now() }
      this.#record.failed(failure)
      throw failure
    }
  }

  /** A connection that is of no use any more is replaced at the next call, or before. */
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
    this.#record.lost(opened.stderrTail())
    opened.close().catch(() => {})
    if (this.#closing.signal.aborted) return
    this.#parts.log.warn({ server: this.settings.name }, 'MCP connection lost')
    void this.start()
  }
}

const sdkParts = () => import('./sdk-parts.ts')

/** The executor's deadline is the one that counts. */
const LONGEST = 2 ** 31 - 1

function lost(server: string, tool: string, stderr: string, sent: boolean): ToolExecutionError {
  const said = stderr === '' ? '' : ` MCP Server stderr: ${stderr}`
  const message = `The service behind tool '${tool}' is unavailable: the connection to MCP server '${server}' was lost.${said}`
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

/**
 * What a server answered, as the result of a call: its structured content where it gave some, else its text, else (images,
 * audio, resources, or several kinds of content) the content as the protocol has it. An error reaches the caller unchanged.
 */
export function callValue({ content = [], structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map((block) => (block.type === 'text' ? block.text : undefined))
  const allText = texts.every((text) => text !== undefined)
  if (isError) {
    const said = texts.filter((text) => text !== undefined).join('\n')
    throw new ToolExecutionError('EXECUTION_ERROR', said === '' ? 'The server reported an error without a text' : said)
  }
  if (structuredContent !== undefined) return structuredContent
  if (content.length === 0) return null
  return allText ? texts.join('\n') : { content }
}
