/** The program of a child process: runs one call of its parent at a time, and ends with it. */
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import os from 'node:os'
import { Writable } from 'node:stream'
import type { Handler, HandlerContext } from '../core/handler.ts'
import { isDeep } from '../core/json/json-depth.ts'
import { LineReader } from '../core/line-reader.ts'
import type { Log } from '../core/log.ts'
import type { ToolResult } from '../core/tool-result.ts'
import {
  type CallMessage,
  type ChildMessage,
  type LogLevel,
  MAX_MESSAGE_BYTES,
  MAX_MESSAGE_DEPTH,
  MAX_NOTE_CHARACTERS,
  MAX_NOTES,
  MAY_HAVE_HAPPENED,
  type ParentMessage,
  type ResultMessage,
  type Thrown,
  thrown,
} from './protocol.ts'

function takeOverOutput(onText: (stream: string, text: string) => void): void {
  for (const stream of ['stdout', 'stderr']) {
    const sink = new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        onText(stream, String(chunk))
        done()
      },
    })
    Object.defineProperty(process, stream, { value: sink, writable: false, configurable: false })
  }
}

/**
 * Blocks what Node's permission model leaves open: signals to other processes, including the parent, their priority and
 * their debugger. `abort` becomes an ordinary exit, so that SIGABRT always means out of memory.
 */
function lockDown(): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  const refuse = (name: string) => () => {
    throw Object.assign(new Error(`${name} is not available in an isolated handler`), { code: 'ERR_ACCESS_DENIED' })
  }
  for (const name of ['kill', '_kill', '_debugProcess', '_debugEnd']) {
    Object.defineProperty(process, name, { value: refuse(`process.${name}`), writable: false, configurable: false })
  }
  Object.defineProperty(process, 'abort', { value: () => process.exit(134), writable: false, configurable: false })
  os.setPriority = refuse('os.setPriority')
  syncBuiltinESMExports()
}

const MAX_CAUSES = 5

/** Like `thrown`, but says what to do if the permission model refused a connection: `fetch` hides that in its cause. */
function explained(error: unknown): Thrown {
  for (let cause = error, depth = 0; cause instanceof Error && depth < MAX_CAUSES; cause = cause.cause, depth++) {
    const { code, permission, syscall } = cause as NodeJS.ErrnoException & { permission?: string }
    // Refused files have another permission and no system call.
    const isNetwork = permission === 'Net' || (permission === undefined && syscall !== undefined)
    if (code === 'ERR_ACCESS_DENIED' && isNetwork) return { message: NO_NETWORK, code }
  }
  return thrown(error)
}

const NO_NETWORK =
  'This handler has no network access: write "network": true in the implementation of its tool, or pass { network: true } to isolated()'

class ChildCall {
  readonly id: number
  readonly context: HandlerContext
  readonly #send: (message: ChildMessage) => void
  readonly #levels: ReadonlySet<string>
  readonly #results: ((result: ToolResult) => void)[] = []
  #notes = 0

  constructor(call: CallMessage, send: (message: ChildMessage) => void) {
    this.id = call.id
    this.#send = send
    this.#levels = new Set(call.levels)
    this.context = {
      // Never aborts: a cancelled call ends with its process.
      signal: new AbortController().signal,
      tenant: call.tenant,
      flags: call.flags,
      report: (progress) => this.#note({ type: 'report', id: this.id, progress }),
      log: this.#log(),
      ...(call.calls && { call: (name, params) => this.#callTool(name, params) }),
    }
    for (const name of call.calls ? ['app', 'user'] : ['app', 'call', 'user']) {
      const get = () => {
        throw new Error(`context.${name} is not available in an isolated handler`)
      }
      Object.defineProperty(this.context, name, { get })
    }
  }

  output(stream: string, text: string): void {
    for (const line of text.split('\n')) if (line !== '') this.#write('debug', { stream }, line)
  }

  /** Gives the handler the result of a tool that it has called. */
  returned({ ordinal, result }: ResultMessage): void {
    this.#results[ordinal]?.(result)
  }

  #callTool(name: string, params: unknown): Promise<ToolResult> {
    return new Promise((resolve) => {
      const ordinal = this.#results.push(resolve) - 1
      this.#send({ type: 'call', id: this.id, ordinal, name, params })
    })
  }

  #log(): Log {
    const at = (level: LogLevel) => (fields: object, message: string) => this.#write(level, fields, message)
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      isLevelEnabled: (level) => this.#levels.has(level),
    }
  }

  #write(level: LogLevel, fields: object, message: string): void {
    if (!this.#levels.has(level)) return
    this.#note({ type: 'log', id: this.id, level, fields, message: String(message).slice(0, MAX_NOTE_CHARACTERS / 2) })
  }

  /** Notes never fail the call: too many, too long or not JSON, they are dropped. */
  #note(message: ChildMessage): void {
    if (this.#notes >= MAX_NOTES) return
    try {
      if (JSON.stringify(message).length > MAX_NOTE_CHARACTERS) return
    } catch {
      return
    }
    this.#notes++
    this.#send(message)
  }
}

const parent = new Socket({ fd: 3, readable: true, writable: true })
const handlers = new Map<string, Handler>()
let current: ChildCall | undefined

const send = (message: ChildMessage): void => void parent.write(`${JSON.stringify(message)}\n`)

/** Whether the last call left no timers or requests running. */
const isClean = (): boolean => process.getActiveResourcesInfo().every((resource) => resource === 'PipeWrap')

async function load(call: CallMessage): Promise<Handler> {
  const key = `${call.export} ${call.module}`
  const known = handlers.get(key)
  if (known !== undefined) return known
  const handler = (await import(call.module))[call.export]
  if (typeof handler !== 'function') throw new TypeError(`${call.module} exports no such function`)
  handlers.set(key, handler)
  return handler
}

function answer(call: ChildCall, value: unknown): void {
  let line: string
  try {
    line = JSON.stringify({ type: 'done', id: call.id, value, ...(isClean() ? {} : { retire: true }) })
  } catch (error) {
    useless(call, `the result cannot be written as JSON: ${thrown(error).message}`)
    return
  }
  if (Buffer.byteLength(line) > MAX_MESSAGE_BYTES) {
    useless(call, `the result has more than ${MAX_MESSAGE_BYTES} bytes`, 'RESULT_TOO_LARGE')
    return
  }
  if (isDeep(line, MAX_MESSAGE_DEPTH)) {
    useless(call, `the result is nested more than ${MAX_MESSAGE_DEPTH} deep`)
    return
  }
  current = undefined
  parent.write(`${line}\n`)
}

/** The handler succeeded, but its result can't be used. */
function useless(call: ChildCall, message: string, code = 'EXECUTION_ERROR'): void {
  fail(call, { message, code, ...MAY_HAVE_HAPPENED })
}

function fail(call: ChildCall, error: Thrown & { detail?: string; outcome?: 'unknown' }): void {
  current = undefined
  send({ type: 'failed', id: call.id, ...error, ...(isClean() ? {} : { retire: true }) })
}

async function take(message: CallMessage): Promise<void> {
  const call = new ChildCall(message, (note) => {
    if (current === call) send(note)
  })
  current = call
  let handler: Handler
  try {
    handler = await load(message)
  } catch (error) {
    const { message: detail, code } = explained(error)
    const why = code === undefined ? '' : ` (${code})`
    return fail(call, { message: `Handler "${message.export}" could not be loaded${why}`, detail })
  }
  try {
    const value = await handler(message.params as Parameters<Handler>[0], call.context)
    if (current === call) answer(call, value)
  } catch (error) {
    if (current === call) fail(call, explained(error))
  }
}

function hear(message: ParentMessage): void {
  // The call that needs the module reports the error.
  if ('prepare' in message) import(message.prepare).catch(() => {})
  else if ('result' in message) {
    if (current?.id === message.id) current.returned(message)
  } else void take(message)
}

process.on('uncaughtException', (error) => {
  if (current === undefined) process.exit(1)
  const how = explained(error)
  // A code such as ECONNREFUSED tells the executor more about the outcome.
  const outcome = how.code === undefined ? MAY_HAVE_HAPPENED : {}
  send({ type: 'failed', id: current.id, ...how, retire: true, ...outcome })
  current = undefined
})

lockDown()
takeOverOutput((stream, text) => current?.output(stream, text))
const lines = new LineReader(Number.POSITIVE_INFINITY, {
  line: (bytes) => hear(JSON.parse(bytes.toString())),
  excess: () => {},
  excessEnd: () => {},
})
parent.on('data', (chunk: Buffer) => lines.push(chunk))
parent.on('error', () => process.exit())
parent.on('close', () => process.exit())
send({ type: 'ready' })
