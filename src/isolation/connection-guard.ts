import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { backgroundClock, type Clock } from '../core/clock.ts'
import { type Answer, type ConnectionKeys, connectionKeys, type Question } from './socket-owners.ts'

const THREAD = new URL(`./socket-owners-thread${extname(import.meta.filename)}`, import.meta.url)

/** Memory of the thread for young objects, as it needs few. */
const YOUNG_MB = 2

/** How long a connection waits for its answer; then it counts as a child's. */
const ANSWER_MS = 10_000

/** Connections that may wait; more count as a child's. */
const MAX_WAITING = 10_000

/** How long after the end of a child its last connections may still wait to be accepted: twice this time. */
const LINGER_MS = 15_000

interface GuardOptions {
  readonly clock?: Clock
  readonly thread?: URL
}

interface Waiting {
  readonly keys: ConnectionKeys
  resolve(fromChild: boolean): void
}

/**
 * Tells connections of child processes from those of other programs on this machine: a server without keys would give
 * a child all rights. Looks nothing up while no child runs that can connect. Otherwise a thread reads the tables of the
 * kernel, once for all connections that wait: those that arrive meanwhile share the next reading. Whatever fails or
 * isn't known counts as a child's.
 */
export class ConnectionGuard {
  readonly #children = new Set<ChildProcess>()
  /** What waits for the next reading, and for the one that runs. */
  #waiting: Waiting[] = []
  #asked: readonly Waiting[] = []
  #thread: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #readings = 0
  readonly #clock: Clock
  readonly #program: URL

  constructor({ clock = backgroundClock, thread = THREAD }: GuardOptions = {}) {
    this.#clock = clock
    this.#program = thread
  }

  /** How many readings were begun. */
  get readings(): number {
    return this.#readings
  }

  /** Whether a child runs that can connect, or ran until recently. */
  get isActive(): boolean {
    return this.#children.size > 0
  }

  /** Adds a child that can open connections. */
  watch(child: ChildProcess): void {
    this.#children.add(child)
    const forget = (): void => {
      this.#children.delete(child)
      this.#rest()
    }
    // Twice, because timers that are late come before new connections.
    const linger = (): void => {
      this.#clock.after(LINGER_MS, () => this.#clock.after(LINGER_MS, forget))
    }
    child.once('exit', linger).once('error', () => {
      if (child.pid === undefined) forget()
    })
  }

  /** Whether a connection on the loopback address may come from a child. False except on Linux, which tells who has a socket. */
  isFromChild({ localAddress, localPort, remoteAddress, remotePort }: Socket): boolean | Promise<boolean> {
    if (!this.isActive || process.platform !== 'linux') return false
    if (this.#waiting.length >= MAX_WAITING) return true
    const client = { address: remoteAddress, port: remotePort }
    const keys = connectionKeys(client, { address: localAddress, port: localPort })
    return new Promise((resolve) => {
      this.#waiting.push({ keys, resolve })
      // All requests of this turn of the event loop share a reading.
      if (this.#asked.length === 0 && this.#waiting.length === 1) setImmediate(() => this.#read())
    })
  }

  #read(): void {
    if (this.#asked.length > 0 || this.#waiting.length === 0) return
    this.#asked = this.#waiting
    this.#waiting = []
    const question: Question = {
      id: ++this.#readings,
      pids: [...this.#children].flatMap(({ pid, exitCode, signalCode }) =>
        pid === undefined || exitCode !== null || signalCode !== null ? [] : [pid],
      ),
      connections: this.#asked.map(({ keys }) => keys),
    }
    this.#timer = setTimeout(() => this.#stop(), ANSWER_MS)
    try {
      this.#thread ??= this.#start()
      this.#thread.postMessage(question)
    } catch {
      this.#stop()
    }
  }

  #start(): Worker {
    const thread = new Worker(this.#program, {
      name: 'toolyard-connections',
      execArgv: [],
      env: {},
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    thread.unref()
    thread.on('message', ({ id, fromChild }: Answer) => {
      if (thread === this.#thread && id === this.#readings) this.#settle(fromChild)
    })
    const ended = (): void => {
      if (thread === this.#thread) this.#stop()
    }
    return thread.on('error', ended).on('messageerror', ended).on('exit', ended)
  }

  #settle(fromChild: readonly boolean[]): void {
    clearTimeout(this.#timer)
    const asked = this.#asked
    this.#asked = []
    release(asked, fromChild)
    this.#read()
    this.#rest()
  }

  /** Without an answer. The next reading starts another thread. */
  #stop(): void {
    this.#end()
    this.#settle([])
  }

  /** Ends the thread if nothing needs it any more. */
  #rest(): void {
    if (!this.isActive && this.#asked.length === 0 && this.#waiting.length === 0) this.#end()
  }

  #end(): void {
    const thread = this.#thread
    this.#thread = undefined
    void thread?.terminate()
  }
}

/** Connections that go on at a time. */
const RELEASED = 32

/** Lets others run in between: many requests that go on at once would block the process. */
function release(asked: readonly Waiting[], fromChild: readonly boolean[], from = 0): void {
  const end = Math.min(from + RELEASED, asked.length)
  for (let at = from; at < end; at++) asked[at]?.resolve(fromChild[at] ?? true)
  if (end < asked.length) setImmediate(() => release(asked, fromChild, end))
}

/** The guard of all children of this process. */
export const connectionGuard = new ConnectionGuard()
