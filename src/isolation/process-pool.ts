import { AsyncLocalStorage } from 'node:async_hooks'
import { availableParallelism } from 'node:os'
import {
  ABOVE_ZERO,
  boolean,
  type Checks,
  COUNT,
  checkAll,
  clock,
  logger,
  number,
  stringList,
} from '../core/check-options.ts'
import { backgroundClock, type Clock } from '../core/clock.ts'
import { FairPool } from '../core/execution/fair-pool.ts'
import type { Isolate, IsolatedTask } from '../core/handler.ts'
import { Linked } from '../core/linked.ts'
import { type Log, silentLog } from '../core/log.ts'
import { type FailureExtras, ToolExecutionError } from '../core/tool-result.ts'
import { IsolatedProcess, type PendingCall, type ProcessSort } from './isolated-process.ts'
import { limitsNetwork, MemoryWatch, moduleFolder, OWN } from './launch.ts'
import { MAY_HAVE_HAPPENED, thrown } from './protocol.ts'

export interface ProcessPoolOptions {
  /** How many calls run at the same time; by default two per core, from 4 to 14. */
  readonly size?: number
  /** How many calls of one tenant run at the same time; by default half of all. */
  readonly share?: number
  /** Whether an idle process waits for the next call; true by default. */
  readonly spare?: boolean
  readonly memoryMb?: number
  /** How many calls of one tenant may wait; 100 by default. */
  readonly queue?: number
  /** Folders that every process may read, besides our code and the folder of the handler's module. */
  readonly read?: readonly string[]
  /** Whether the handlers are ours: they may load native addons, and their processes stay whatever they leave running. */
  readonly trusted?: boolean
  /** Whether handlers may start worker threads. */
  readonly workers?: boolean
  /** How often a call is tried if its process ends or can't be started; once by default. */
  readonly tries?: number
  /** Whether a process is killed when the signal of its call aborts, instead of finishing the call; true by default. */
  readonly killOnAbort?: boolean
  /** How long a process may work on one call, besides the deadline of the call itself. */
  readonly callTimeoutMs?: number
  /** Processes end after this time without a call; by default they stay. */
  readonly idleMs?: number
  readonly clock?: Clock
  readonly log?: Log
}

const QUEUE = 100

const OPTIONS: Checks<ProcessPoolOptions> = {
  ...{ size: number(COUNT), share: number(COUNT), spare: boolean, memoryMb: number(ABOVE_ZERO), read: stringList },
  ...{ queue: number({ integer: true, min: 0 }), trusted: boolean, workers: boolean, tries: number(COUNT) },
  ...{ killOnAbort: boolean, callTimeoutMs: number(ABOVE_ZERO), idleMs: number({ min: 0 }), clock, log: logger },
}

interface WaitingCall extends PendingCall {
  readonly tenant: string
  readonly sort: ProcessSort
  /** Set while it runs. */
  running?: { readonly process: IsolatedProcess; readonly end: () => void } | undefined
}

/**
 * Supervises child processes: starts them when calls wait, gives each one call at a time, kills them at a deadline or
 * over their memory limit, and replaces those that ended. Only calls start processes, so a process that always fails
 * is never restarted in a loop.
 */
export class ProcessPool implements Isolate {
  readonly #size: number
  readonly #memoryMb: number
  readonly #options: ProcessPoolOptions
  readonly #log: Log
  readonly #clock: Clock
  readonly #processes = new Set<IsolatedProcess>()
  readonly #places: FairPool<WaitingCall>
  readonly #running = new Linked<{ readonly call: WaitingCall; readonly process: IsolatedProcess }>()
  readonly #watch = new MemoryWatch(() => [...this.#running].map(({ process }) => process))
  readonly #sorts: ProcessSort[] = []
  #lastSort = this.#sortOf(OWN, false)
  #spare = true
  #failedStarts = 0
  #cancelIdle = (): void => {}
  #closing: Promise<void> | undefined
  #whenEmpty: (() => void) | undefined

  constructor(options: ProcessPoolOptions = {}) {
    checkAll('ProcessPool', options, OPTIONS)
    this.#options = options
    this.#size = options.size ?? 2 * Math.max(2, Math.min(7, availableParallelism()))
    this.#places = new FairPool({ size: this.#size, share: options.share, queue: options.queue ?? QUEUE })
    this.#memoryMb = options.memoryMb ?? 128
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? backgroundClock
  }

  get pids(): number[] {
    return [...this.#processes].flatMap((process) => process.pid ?? [])
  }

  /** Starts the spare process, so that the first call finds it ready, with this module loaded. */
  warm(module?: string, network = false): void {
    const folder = module === undefined ? undefined : moduleFolder(module)
    if (folder !== undefined) {
      this.#lastSort = this.#sortOf(folder, network)
      this.#lastSort.module = module
    }
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
    const sort = this.#sortOf(folder, task.network === true)
    let triesLeft = (this.#options.tries ?? 1) - 1
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        signal.removeEventListener('abort', abort)
        this.#ended(call)
        this.#attend()
      }
      const call: WaitingCall = {
        task,
        tenant: task.tenant,
        sort,
        within: AsyncLocalStorage.snapshot(),
        resolve: (value) => {
          sort.module = task.module
          settled()
          resolve(value)
        },
        reject: (error) => {
          if (triesLeft > 0 && !signal.aborted && this.#closing === undefined && endedProcess(error)) {
            triesLeft--
            this.#log.warn({ tool: task.tool, detail: error.message }, 'A process ended; its call is retried')
            this.#ended(call)
            if (this.#places.add(call)) return
          }
          settled()
          reject(error)
        },
      }
      const abort = (): void => {
        const process = call.running?.process
        if (process === undefined) this.#drop(call, signal.reason)
        else if (this.#options.killOnAbort === false) reject(signal.reason)
        else process.end(signal.reason)
        this.#pump()
      }
      if (!this.#places.add(call)) {
        const { queue = QUEUE } = this.#options
        const reason = `all processes of its tenant are busy and ${queue} calls already wait. Try again later`
        reject(unavailable(task, reason))
        return
      }
      signal.addEventListener('abort', abort)
      this.#spare = true
      this.#pump()
      this.#attend()
    })
  }

  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing
    const { promise, resolve } = Promise.withResolvers<void>()
    // Set before the calls are rejected, so that none of them is tried again.
    this.#closing = promise
    this.#whenEmpty = resolve
    this.#cancelIdle()
    for (const call of [...this.#places]) this.#drop(call, unavailable(call.task, SHUT_DOWN))
    if (this.#processes.size === 0) resolve()
    for (const process of this.#processes) process.hold()
    for (const { call, process } of this.#running) process.end(unavailable(call.task, SHUT_DOWN, MAY_HAVE_HAPPENED))
    for (const process of this.#processes) if (process.state !== 'ending') process.end()
    return promise
  }

  #drop(call: WaitingCall, reason: unknown): void {
    this.#places.remove(call)
    call.reject(reason)
  }

  #ended(call: WaitingCall): void {
    if (call.running === undefined) return
    call.running.end()
    call.running = undefined
    this.#places.leave(call.tenant)
  }

  /** Gives waiting calls to idle processes, then starts processes if needed. */
  #pump(): void {
    while (this.#idle() !== undefined) {
      const call = this.#places.take((next) => this.#idle(next.sort) !== undefined)
      const process = call && this.#idle(call.sort)
      if (call === undefined || process === undefined) break
      this.#lastSort = call.sort
      call.running = { process, end: this.#running.add({ call, process }) }
      try {
        process.run(this.#timed(call, process))
      } catch (error) {
        call.reject(new ToolExecutionError('INVALID_PARAMETERS', `parameters are not JSON: ${thrown(error).message}`))
      }
    }
    this.#fill()
  }

  #timed(call: WaitingCall, process: IsolatedProcess): PendingCall {
    const { callTimeoutMs } = this.#options
    if (callTimeoutMs === undefined) return call
    const message = `Tool '${call.task.tool}' took more than ${callTimeoutMs / 1000} s`
    const cancel = this.#clock.after(callTimeoutMs, () => process.end(new ToolExecutionError('TIMEOUT', message)))
    return {
      task: call.task,
      within: call.within,
      resolve: (value) => {
        cancel()
        call.resolve(value)
      },
      reject: (error) => {
        cancel()
        call.reject(error)
      },
    }
  }

  #idle(sort?: ProcessSort): IsolatedProcess | undefined {
    for (const process of this.#processes) {
      if (process.state === 'idle' && (sort === undefined || process.sort === sort)) return process
    }
    return undefined
  }

  #fill(): void {
    const starting = [...this.#processes].filter((process) => process.state === 'starting')
    const planned = new Map<string, number>()
    let free = this.#size - this.#running.size
    for (const { sort, tenant } of this.#places) {
      if (free <= 0) break
      const before = planned.get(tenant) ?? 0
      if (!this.#places.hasRoom(tenant, before)) continue
      const at = starting.findIndex((process) => process.sort === sort)
      if (at === -1) this.#start(sort)
      else starting.splice(at, 1)
      planned.set(tenant, before + 1)
      free--
    }
    for (const process of this.#processes) {
      const { module } = process.sort
      if (process.state === 'idle' && module !== undefined) process.prepare(module)
    }
    // The spare starts after the processes that calls wait for.
    const coming = [...this.#processes].some(({ state }) => state === 'idle' || state === 'starting')
    if (this.#keepsSpare && this.#spare && !coming && this.#processes.size <= this.#size) this.#start(this.#lastSort)
  }

  get #keepsSpare(): boolean {
    return this.#options.spare ?? true
  }

  /** Without a limit of the network, all processes of a folder are of one sort. */
  #sortOf(folder: string, asked: boolean): ProcessSort {
    const network = asked || !limitsNetwork()
    let sort = this.#sorts.find((one) => one.folder === folder && one.network === network)
    if (sort === undefined) {
      sort = { folder, network, module: undefined }
      this.#sorts.push(sort)
    }
    return sort
  }

  #start(sort: ProcessSort): void {
    if (this.#closing !== undefined) return
    if (this.#processes.size >= this.#size + (this.#keepsSpare ? 1 : 0)) {
      // The pool is full: ends an idle process of another sort. When it is gone, the pool is filled again.
      const ending = [...this.#processes].some((process) => process.state === 'ending')
      if (!ending) this.#idle()?.end()
      return
    }
    const { read = [], trusted = false, workers = false } = this.#options
    const { folder, network } = sort
    const folders = folder === OWN ? read : [...read, folder]
    try {
      const options = { folders, memoryMb: this.#memoryMb, trusted, workers, network }
      const process = new IsolatedProcess(sort, options, {
        idle: () => {
          this.#failedStarts = 0
          this.#pump()
        },
        gone: (stderr) => this.#gone(process, stderr),
        warn: (fields, message) => this.#log.warn(fields, message),
      })
      this.#processes.add(process)
    } catch (error) {
      this.#failedToStart(sort, thrown(error).message)
      setImmediate(() => this.#pump())
    }
  }

  #gone(process: IsolatedProcess, stderr: string): void {
    this.#processes.delete(process)
    if (this.#closing !== undefined) {
      if (this.#processes.size === 0) this.#whenEmpty?.()
      return
    }
    if (!process.started) this.#failedToStart(process.sort, stderr)
    // A spare that ended unused would end again.
    if (!process.used) this.#spare = false
    this.#pump()
  }

  /** Rejects the calls that wait for a process of this sort, unless they have a try left. */
  #failedToStart(sort: ProcessSort, detail: string): void {
    this.#log.error({ detail }, 'An isolated process could not be started')
    if (++this.#failedStarts < (this.#options.tries ?? 1)) return
    this.#failedStarts = 0
    for (const call of [...this.#places]) {
      if (call.sort !== sort) continue
      const message = `The process for tool '${call.task.tool}' could not be started`
      this.#drop(call, new ToolExecutionError('EXECUTION_ERROR', message))
    }
  }

  #attend(): void {
    const { idleMs } = this.#options
    const isBusy = this.#running.size + this.#places.waiting > 0
    this.#watch.active = isBusy
    this.#cancelIdle()
    if (idleMs === undefined || isBusy || this.#closing !== undefined || this.#processes.size === 0) return
    this.#cancelIdle = this.#clock.after(idleMs, () => {
      for (const process of this.#processes) if (process.state !== 'ending') process.end()
    })
  }
}

const SHUT_DOWN = 'the process pool is shut down'

/** Whether the call was lost with its process, so that its handler may not have run to the end. */
const endedProcess = (error: unknown): error is ToolExecutionError =>
  error instanceof ToolExecutionError && error.extras.outcome === 'unknown'

const unavailable = ({ tool }: IsolatedTask, reason: string, extras: FailureExtras = {}): ToolExecutionError =>
  new ToolExecutionError('SERVICE_UNAVAILABLE', `Tool '${tool}' is unavailable: ${reason}`, extras)
