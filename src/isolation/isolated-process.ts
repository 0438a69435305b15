import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { IsolatedTask } from '../core/handler.ts'
import { LineReader } from '../core/line-reader.ts'
import { TOOL_ERRORS, type ToolErrorCode, ToolExecutionError } from '../core/tool-result.ts'
import { type LaunchOptions, launch } from './launch.ts'
import {
  type CallMessage,
  type ChildMessage,
  isCode,
  LOG_LEVELS,
  MAX_CALL_BYTES,
  MAX_CALL_MESSAGES,
  MAX_ERROR_CHARACTERS,
  MAX_MESSAGE_BYTES,
  MAY_HAVE_HAPPENED,
  type ResultMessage,
  readMessage,
  thrown,
} from './protocol.ts'

type Settling = Extract<ChildMessage, { type: 'done' | 'failed' }>
type Note = Extract<ChildMessage, { type: 'report' | 'log' }>
type ToolCall = Extract<ChildMessage, { type: 'call' }>

const START_MS = 10_000

/** Limit for the stored stderr of a process that doesn't start. */
const STDERR_CHARACTERS = 2000

/** A running call: either `resolve` or `reject` is called, once. */
export interface PendingCall {
  readonly task: IsolatedTask
  /** Runs work in the async context of the call: a process serves one caller after the other. */
  within<Value>(work: () => Value): Value
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Processes of the same sort run each other's calls. */
export interface ProcessSort {
  /** The folder whose modules they run. */
  readonly folder: string
  readonly network: boolean
  /** The last used module: idle processes load it before the next call. */
  module: string | undefined
}

interface ProcessEvents {
  idle(): void
  /** The process ended; `stderr` is its output before it was ready. */
  gone(stderr: string): void
  warn(fields: object, message: string): void
}

/** A child process that runs one call at a time. It is killed when it does anything unexpected. */
export class IsolatedProcess {
  readonly sort: ProcessSort
  readonly memoryMb: number
  readonly #trusted: boolean
  state: 'starting' | 'idle' | 'busy' | 'ending' = 'starting'
  /** Whether it became ready, and whether it took a call. */
  started = false
  used = false
  readonly #child: ChildProcess
  readonly #channel: Socket
  readonly #lines: LineReader
  readonly #events: ProcessEvents
  readonly #startTimer: NodeJS.Timeout
  readonly #loaded = new Set<string>()
  #call: PendingCall | undefined
  #id = 0
  #messages = 0
  #bytes = 0
  #retire = false
  #stderr = ''

  constructor(sort: ProcessSort, options: LaunchOptions, events: ProcessEvents) {
    this.sort = sort
    this.memoryMb = options.memoryMb
    this.#trusted = options.trusted ?? false
    this.#events = events
    this.#child = launch(options)
    // If the system is out of file descriptors, the child has no streams and emits an error.
    this.#child.on('error', (error) => events.warn({ error: error.message }, 'An isolated process failed'))
    if (!this.#child.stdio?.[3]) throw new Error('the process has no channel')
    this.#channel = this.#child.stdio[3] as Socket
    this.#lines = new LineReader(MAX_MESSAGE_BYTES, {
      line: (bytes) => this.#hear(bytes.toString()),
      excess: () => this.#misbehave('RESULT_TOO_LARGE', `sent a message of more than ${MAX_MESSAGE_BYTES} bytes`),
      excessEnd: () => {},
    })
    this.#startTimer = setTimeout(() => this.end(), START_MS).unref()
    this.#listen()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  run(call: PendingCall): void {
    const { task } = call
    const message: CallMessage = {
      id: this.#id + 1,
      module: task.module,
      export: task.export,
      params: task.params,
      tenant: task.tenant,
      flags: task.flags,
      levels: LOG_LEVELS.filter((level) => task.log.isLevelEnabled(level)),
      calls: task.call !== undefined,
    }
    // Throws if the parameters aren't JSON, before anything is sent.
    const line = JSON.stringify(message)
    this.#id++
    this.#messages = 0
    this.#bytes = 0
    this.#call = call
    this.state = 'busy'
    task.started = true
    this.used = true
    this.#loaded.add(task.module)
    this.#channel.write(`${line}\n`)
  }

  /** Loads a module before the next call. */
  prepare(module: string): void {
    if (this.#loaded.has(module)) return
    this.#loaded.add(module)
    this.#channel.write(`${JSON.stringify({ prepare: module })}\n`)
  }

  /** Kills the process; a running call is rejected with `reason`. */
  end(reason?: unknown): void {
    const call = this.#call
    this.#call = undefined
    this.state = 'ending'
    this.#child.kill('SIGKILL')
    this.#channel.destroy()
    call?.reject(reason)
  }

  endForMemory(): void {
    this.end(this.#outOfMemory())
  }

  /** Keeps our own process alive until this one has ended. */
  hold(): void {
    this.#child.ref()
  }

  #listen(): void {
    const { stderr } = this.#child
    stderr?.on('data', (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(0, STDERR_CHARACTERS)
    })
    stderr?.on('error', () => {})
    this.#channel.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      this.#lines.push(chunk)
      if (this.#retire && this.state === 'idle') this.end()
      else if (this.state === 'idle') this.#events.idle()
    })
    // A child that closes its end is done; 'close' reports how it ended.
    this.#channel.on('end', () => this.#child.kill('SIGKILL'))
    this.#channel.on('error', () => this.#child.kill('SIGKILL'))
    this.#child.once('close', (code, signal) => this.#gone(code, signal))
    this.#child.unref()
    this.#channel.unref()
    ;(stderr as Socket | null)?.unref()
  }

  #hear(line: string): void {
    if (this.state === 'ending') return
    const message = readMessage(line)
    if (message === undefined) {
      this.#misbehave('EXECUTION_ERROR', 'sent an invalid message')
    } else if (++this.#messages > MAX_CALL_MESSAGES || this.#bytes > MAX_CALL_BYTES) {
      this.#misbehave('EXECUTION_ERROR', 'sent more messages than a call may')
    } else if (message.type === 'ready') {
      if (this.state === 'starting') this.#ready()
      else this.#retire = true
    } else if (this.#call === undefined || message.id !== this.#id) {
      // A message without a call: the process ends as soon as it is idle.
      this.#retire = true
    } else if (message.type === 'done' || message.type === 'failed') {
      this.#settle(message, this.#call)
    } else if (message.type === 'call') {
      this.#callTool(message, this.#call)
    } else {
      this.#pass(message, this.#call)
    }
  }

  #settle(message: Settling, call: PendingCall): void {
    this.#call = undefined
    this.#retire ||= message.retire === true && !this.#trusted
    this.state = 'idle'
    if (message.type === 'done') {
      call.resolve(message.value)
      return
    }
    if (message.detail !== undefined) {
      this.#events.warn({ export: call.task.export, detail: String(message.detail) }, message.message)
    }
    call.reject(handlerError(message))
  }

  #callTool({ id, ordinal, name, params }: ToolCall, call: PendingCall): void {
    const { task } = call
    if (task.call === undefined) {
      this.#misbehave('EXECUTION_ERROR', 'called a tool')
      return
    }
    const fail = (error: unknown) => {
      if (this.#call === call) this.end(error)
    }
    const makeCall = task.call
    call
      .within(() => makeCall(name, params))
      .then((result) => {
        const message: ResultMessage = { id, ordinal, result }
        if (this.#call === call) this.#channel.write(`${JSON.stringify(message)}\n`)
      }, fail)
  }

  #pass(note: Note, { task, within }: PendingCall): void {
    try {
      within(() => {
        if (note.type === 'report') task.report(note.progress)
        else task.log[note.level](Object(note.fields), note.message)
      })
    } catch (error) {
      this.#events.warn(
        { error: thrown(error).message },
        'A report or log line of an isolated handler could not be passed on',
      )
    }
  }

  #ready(): void {
    clearTimeout(this.#startTimer)
    // Later output of V8 or a handler is discarded.
    this.#child.stderr?.destroy()
    this.started = true
    this.state = 'idle'
  }

  #gone(code: number | null, signal: NodeJS.Signals | null): void {
    clearTimeout(this.#startTimer)
    const call = this.#call
    this.#call = undefined
    this.state = 'ending'
    if (call !== undefined) {
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`
      const error =
        signal === 'SIGABRT' || signal === 'SIGTRAP'
          ? this.#outOfMemory(call)
          : new ToolExecutionError(
              'EXECUTION_ERROR',
              `The process of tool '${call.task.tool}' ended before it answered (${how})`,
              MAY_HAVE_HAPPENED,
            )
      call.reject(error)
    }
    this.#events.gone(this.#stderr)
  }

  #misbehave(code: ToolErrorCode, what: string): void {
    if (this.state === 'ending') return
    const name = this.#call?.task.tool
    this.end(new ToolExecutionError(code, `The process of tool '${name}' ${what} and was ended`, MAY_HAVE_HAPPENED))
  }

  #outOfMemory(call = this.#call): ToolExecutionError {
    const message = `Tool '${call?.task.tool}' ran out of memory (limit ${this.memoryMb} MB)`
    return new ToolExecutionError('EXECUTION_ERROR', message, MAY_HAVE_HAPPENED)
  }
}

type Failed = Extract<ChildMessage, { type: 'failed' }>

function handlerError({ message: text, code, outcome }: Omit<Failed, 'type' | 'id'>): Error {
  const message = text.slice(0, MAX_ERROR_CHARACTERS)
  const known = isCode(code) && Object.hasOwn(TOOL_ERRORS, code) ? (code as ToolErrorCode) : undefined
  if (outcome !== undefined) return new ToolExecutionError(known ?? 'EXECUTION_ERROR', message, MAY_HAVE_HAPPENED)
  if (known !== undefined) return new ToolExecutionError(known, message)
  return Object.assign(new Error(message), isCode(code) ? { code } : {})
}
