import { availableParallelism } from 'node:os'
import type { Isolate, IsolatedTask } from '../core/isolate.ts'
import { type Log, silentLog } from '../core/log.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import type { FailureExtras } from '../core/tool-result.ts'
import { IsolatedProcess, type PendingCall } from './isolated-process.ts'
import { MemoryWatch, moduleFolder, OWN } from './launch.ts'
import { MAY_HAVE_HAPPENED, thrown } from './protocol.ts'

export interface ProcessPoolOptions {
  /** How many calls run at a time; one tenant gets at most all but one of them, which by default is one a core. */
  readonly size?: number
  /** The heap of a process. */
  readonly memoryMb?: number
  /** How many calls may wait. */
  readonly queue?: number
  /** Folders that every process may read, besides our code and the folder of the handler's module. */
  readonly read?: readonly string[]
  readonly log?: Log
}

interface WaitingCall extends PendingCall {
  readonly tenant: string
  readonly folder: string
}

/** Runs handlers in processes of their own, which are killed when their call is over before they are done. */
export class ProcessPool implements Isolate {
  readonly #size: number
  readonly #share: number
  readonly #memoryMb: number
  readonly #limit: number
  readonly #read: readonly string[]
  readonly #log: Log
  readonly #processes = new Set<IsolatedProcess>()
  readonly #queue = new CallQueue<WaitingCall>()
  readonly #running = new Map<WaitingCall, IsolatedProcess>()
  readonly #watch = new MemoryWatch(() => this.#running.values())
  /** The module of each folder that answered last: idle processes load it before the next call comes. */
  readonly #modules = new Map<string, string>()
  #lastFolder = OWN
  #spare = true
  #closing: Promise<void> | undefined
  #whenEmpty: (() => void) | undefined

  constructor(options: ProcessPoolOptions = {}) {
    this.#size = options.size ?? Math.max(3, Math.min(8, availableParallelism() + 1))
    this.#share = Math.max(1, this.#size - 1)
    this.#memoryMb = options.memoryMb ?? 128
    this.#limit = options.queue ?? 100
    this.#read = options.read ?? []
    this.#log = options.log ?? silentLog
  }

  /** The processes that exist now. */
  get pids(): number[] {
    return [...this.#processes].flatMap((process) => process.pid ?? [])
  }

  /** Starts the spare process, so that the first call finds it ready. */
  warm(): void {
    this.#spare = true
    this.#fill()
  }

  run(task: IsolatedTask, signal: AbortSignal): Promise<unknown> {
    if (this.#closing !== undefined) return Promise.reject(unavailable(task, SHUT_DOWN))
    if (signal.aborted) return Promise.reject(signal.reason)
    const folder = moduleFolder(task.module)
    if (folder === undefined) {
      const message = `Handler "${task.export}" could not be loaded: its module must be a file: URL`
      return Promise.reject(new ToolExecutionError('EXECUTION_ERROR', message))
    }
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        signal.removeEventListener('abort', abort)
        this.#running.delete(call)
        this.#attend()
      }
      const call: WaitingCall = {
        task,
        tenant: task.tenant,
        folder,
        resolve: (value) => {
          this.#modules.set(folder, task.module)
          settled()
          resolve(value)
        },
        reject: (error) => {
          settled()
          reject(error)
        },
      }
      const abort = (): void => {
        const process = this.#running.get(call)
        if (process === undefined) this.#drop(call, signal.reason)
        else process.end(signal.reason)
        this.#pump()
      }
      signal.addEventListener('abort', abort)
      this.#queue.add(call)
      this.#spare = true
      this.#pump()
      if (this.#queue.size > this.#limit) {
        const reason = `all processes are busy and ${this.#limit} calls already wait. Try again later`
        this.#drop(call, unavailable(task, reason))
      }
      this.#attend()
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    for (const call of [...this.#queue]) this.#drop(call, unavailable(call.task, SHUT_DOWN))
    const gone = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve
    })
    if (this.#processes.size === 0) return
    for (const process of this.#processes) process.hold()
    for (const [call, process] of this.#running) process.end(unavailable(call.task, SHUT_DOWN, MAY_HAVE_HAPPENED))
    for (const process of this.#processes) if (process.state !== 'ending') process.end()
    await gone
  }

  #drop(call: WaitingCall, reason: unknown): void {
    this.#queue.remove(call)
    call.reject(reason)
  }

  /** Gives waiting calls to idle processes, then sees to it that there are enough of these. */
  #pump(): void {
    while (this.#running.size < this.#size) {
      const call = this.#queue.take((next) => this.#mayRun(next.tenant) && this.#idle(next.folder) !== undefined)
      const process = call && this.#idle(call.folder)
      if (call === undefined || process === undefined) break
      this.#lastFolder = call.folder
      this.#running.set(call, process)
      try {
        process.run(call)
      } catch (error) {
        call.reject(new ToolExecutionError('INVALID_PARAMETERS', `parameters are no JSON: ${thrown(error).message}`))
      }
    }
    this.#fill()
  }

  #mayRun(tenant: string): boolean {
    let running = 0
    for (const call of this.#running.keys()) if (call.tenant === tenant) running++
    return running < this.#share
  }

  #idle(folder?: string): IsolatedProcess | undefined {
    for (const process of this.#processes) {
      if (process.state === 'idle' && (folder === undefined || process.folder === folder)) return process
    }
    return undefined
  }

  #fill(): void {
    const starting = [...this.#processes].filter((process) => process.state === 'starting')
    let free = this.#size - this.#running.size
    for (const call of [...this.#queue]) {
      if (free <= 0) break
      if (!this.#mayRun(call.tenant)) continue
      const at = starting.findIndex((process) => process.folder === call.folder)
      if (at === -1) this.#start(call.folder)
      else starting.splice(at, 1)
      free--
    }
    for (const process of this.#processes) {
      const module = this.#modules.get(process.folder)
      if (process.state === 'idle' && module !== undefined) process.prepare(module)
    }
    // The spare, once those that are waited for have started.
    const coming = [...this.#processes].some(({ state }) => state === 'idle' || state === 'starting')
    if (this.#spare && !coming && this.#processes.size <= this.#size) this.#start(this.#lastFolder)
  }

  #start(folder: string): void {
    if (this.#closing !== undefined) return
    if (this.#processes.size > this.#size) {
      // All places are taken: an idle process that serves another folder makes room, and its end brings us back here.
      const ending = [...this.#processes].some((process) => process.state === 'ending')
      if (!ending) this.#idle()?.end()
      return
    }
    try {
      const options = {
        folders: folder === OWN ? this.#read : [...this.#read, folder],
        memoryMb: this.#memoryMb,
      }
      const process = new IsolatedProcess(folder, options, {
        idle: () => this.#pump(),
        gone: (stderr) => this.#gone(process, stderr),
        warn: (fields, message) => this.#log.warn(fields, message),
      })
      this.#processes.add(process)
    } catch (error) {
      this.#failedToStart(folder, thrown(error).message)
    }
  }

  #gone(process: IsolatedProcess, stderr: string): void {
    this.#processes.delete(process)
    if (this.#closing !== undefined) {
      if (this.#processes.size === 0) this.#whenEmpty?.()
      return
    }
    if (!process.started) this.#failedToStart(process.folder, stderr)
    // A spare that ended unused would do so again, and again.
    if (!process.used) this.#spare = false
    this.#pump()
  }

  /** Another attempt would most likely fail too: those who wait for it are told. */
  #failedToStart(folder: string, detail: string): void {
    this.#log.error({ detail }, 'an isolated process could not be started')
    for (const call of [...this.#queue]) {
      if (call.folder !== folder) continue
      const message = `The process for tool '${call.task.tool}' could not be started`
      this.#drop(call, new ToolExecutionError('EXECUTION_ERROR', message))
    }
  }

  #attend(): void {
    this.#watch.active = this.#running.size + this.#queue.size > 0
  }
}

const SHUT_DOWN = 'the process pool is shut down'

const unavailable = ({ tool }: IsolatedTask, reason: string, extras: FailureExtras = {}): ToolExecutionError =>
  new ToolExecutionError('SERVICE_UNAVAILABLE', `Tool '${tool}' is unavailable: ${reason}`, extras)

/**
 * Calls that wait, first come first served within a tenant, and the tenants in turn: a tenant that was just served
 * goes to the end of the round.
 */
export class CallQueue<T extends { readonly tenant: string }> {
  readonly #waiting = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(call: T): void {
    const line = this.#waiting.get(call.tenant)
    if (line === undefined) this.#waiting.set(call.tenant, [call])
    else line.push(call)
    this.#size++
  }

  /** Takes the next call that `fits`. */
  take(fits: (call: T) => boolean): T | undefined {
    for (const [tenant, line] of this.#waiting) {
      const at = line.findIndex(fits)
      if (at === -1) continue
      const [call] = line.splice(at, 1)
      this.#size--
      this.#waiting.delete(tenant)
      if (line.length > 0) this.#waiting.set(tenant, line)
      return call
    }
    return undefined
  }

  remove(call: T): void {
    const line = this.#waiting.get(call.tenant)
    const at = line?.indexOf(call) ?? -1
    if (line === undefined || at === -1) return
    line.splice(at, 1)
    this.#size--
    if (line.length === 0) this.#waiting.delete(call.tenant)
  }

  /** All that waits, in the order in which tenants come round. */
  *[Symbol.iterator](): Generator<T> {
    for (const line of this.#waiting.values()) yield* line
  }
}
