import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MiniError, type MiniHost, type Worker } from '../base/port.ts'
import { takeTurns } from '../base/take-turns.ts'
import type { Packages } from './find-packages.ts'
import type { ReadToolsResult } from './read-tools.ts'
import type { ParameterReading, Question, Reading, ToolReader } from './tool-reader.ts'

/** Questions or texts per call of the process, which can't be stopped in between. */
const BATCH = 8
/** Limit for waiting questions and texts. */
const MAX_WAITING = 2_000
/** An idle process ends: it holds 300 MB, and starts again in a second. */
const IDLE_MS = 600_000

const MODULE = new URL(`./read-tools${extname(import.meta.filename)}`, import.meta.url).href
/** The weights that come with the package. */
export const WEIGHTS = join(import.meta.dirname, '..', '..', 'weights')

export interface ProcessReaderOptions {
  readonly packages: Packages
  readonly weights?: string
  readonly host: Pick<MiniHost, 'id' | 'log' | 'startWorker'>
  readonly idleMs?: number
}

/** Runs the model in a child process, which starts with the first question. Requests take turns, batch by batch. */
export class ProcessReader implements ToolReader {
  readonly #options: ProcessReaderOptions
  readonly #worker: Worker
  #waiting = 0
  #requests = 0
  #closed = false

  constructor(options: ProcessReaderOptions) {
    const { packages, weights = WEIGHTS, idleMs = IDLE_MS, host } = options
    const urls = [...packages.runtimes, packages.tokenizers]
    this.#options = options
    this.#worker = host.startWorker({
      name: host.id,
      module: MODULE,
      export: 'readTools',
      read: [weights, ...urls.map((url) => dirname(fileURLToPath(url)))],
      idleMs,
      queue: MAX_WAITING,
    })
  }

  /** The child process, if there is one. */
  get pid(): number | undefined {
    return this.#worker.pid
  }

  async read(questions: readonly Question[], signal?: AbortSignal): Promise<Reading[]> {
    return (await this.#run(questions, (batch) => ({ questions: batch }), signal)).flatMap(({ readings }) => readings)
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<number[][]> {
    return (await this.#run(texts, (batch) => ({ texts: batch }), signal)).flatMap(({ embeddings }) => embeddings)
  }

  async #run<Item>(
    items: readonly Item[],
    params: (batch: readonly Item[]) => object,
    signal?: AbortSignal,
  ): Promise<ReadToolsResult[]> {
    signal?.throwIfAborted()
    if (this.#closed) throw this.#closedError()
    if (this.#waiting + items.length > MAX_WAITING) {
      throw new MiniError(`Too much waits for ${this.#options.host.id} already. Ask again later.`, true)
    }
    const request = String(this.#requests++)
    this.#waiting += items.length
    // The first failure drops the batches of the request that still wait.
    const controller = new AbortController()
    const stop = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
    try {
      const batches: Promise<ReadToolsResult>[] = []
      for (let at = 0; at < items.length; at += BATCH) {
        batches.push(this.#batch(params(items.slice(at, at + BATCH)), request, stop))
      }
      return await Promise.all(batches)
    } finally {
      controller.abort()
      this.#waiting -= items.length
    }
  }

  /** Ends the process; waiting requests fail. */
  close(): Promise<void> {
    this.#closed = true
    return this.#worker.close()
  }

  async #batch(params: object, request: string, signal: AbortSignal): Promise<ReadToolsResult> {
    const { packages, weights = WEIGHTS, host } = this.#options
    try {
      return (await this.#worker.run({ packages, weights, ...params }, request, signal)) as ReadToolsResult
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (this.#closed) throw this.#closedError()
      const detail = error instanceof Error ? error.message : String(error)
      if (this.#worker.ended(error)) {
        host.log.warn({ model: host.id, detail }, 'The process of the built-in model ended')
        throw new MiniError(`The process of ${host.id} ended before it answered. Ask again.`, true)
      }
      host.log.error({ model: host.id, detail }, 'The built-in model could not be used')
      throw new MiniError(`The model ${host.id} could not be used: its files are damaged. Install Toolyard again.`)
    }
  }

  #closedError(): MiniError {
    return new MiniError(`The model ${this.#options.host.id} is closed.`)
  }
}

/** The model reads 160 tokens of a message. A longer message is read piece by piece. */
const MAX_LENGTH = 560
const MAX_WINDOWS = 3
/** Keeps the tokens of two windows so far apart that no value spans both. */
const GAP = 32
const NEVER = -1_000

interface Window {
  readonly from: number
  readonly text: string
}

/** A reader for long messages: it reads windows of them, and places values in the whole message. */
export function inWindows(reader: ToolReader): ToolReader {
  return {
    embed: (texts, signal) => reader.embed(texts.map(gistOf), signal),
    async read(questions, signal) {
      const windows = questions.map(({ said }) => windowsOf(said))
      const all = questions.flatMap(({ tool }, at): Question[] =>
        (windows[at] as Window[]).map(({ text }) => ({ tool, said: text })),
      )
      const readings = await reader.read(all, signal)
      let next = 0
      const whole: Reading[] = []
      for (const own of windows) {
        await takeTurns()
        const mine = readings.slice(next, next + own.length)
        next += own.length
        whole.push(own.length === 1 ? (mine[0] as Reading) : joined(own, mine))
      }
      return whole
    },
  }
}

/** The start and the end of a long message: they say what it asks for. */
const gistOf = (said: string): string =>
  said.length <= MAX_LENGTH ? said : `${said.slice(0, MAX_LENGTH / 4)} ${said.slice(-MAX_LENGTH / 4)}`

/** Pieces that start and end with sentences, and overlap a bit. */
export function windowsOf(said: string): Window[] {
  if (said.length <= MAX_LENGTH) return [{ from: 0, text: said }]
  const ends = [...said.matchAll(/[.!?;,\n]\s+/g)].map(({ index, 0: end }) => index + end.length)
  const windows: Window[] = []
  for (let from = 0; from < said.length && windows.length < MAX_WINDOWS; ) {
    const to = ends.findLast((end) => end > from + MAX_LENGTH / 2 && end <= from + MAX_LENGTH) ?? from + MAX_LENGTH
    windows.push({ from, text: said.slice(from, to) })
    if (to >= said.length) break
    from = ends.find((end) => end > to - MAX_LENGTH / 4 && end < to) ?? to
  }
  return windows
}

function joined(windows: readonly Window[], readings: readonly Reading[]): Reading {
  const [first] = readings as [Reading]
  return {
    relevance: Math.max(...readings.map(({ relevance }) => relevance)),
    parameters: first.parameters.map((_, index) =>
      joinedParameter(
        windows,
        readings.map(({ parameters }) => parameters[index] as ParameterReading),
      ),
    ),
  }
}

function joinedParameter(windows: readonly Window[], readings: readonly ParameterReading[]): ParameterReading {
  const [from, to, start, end, inside] = [[], [], [], [], []] as [number[], number[], number[], number[], number[]]
  for (const [at, { span }] of readings.entries()) {
    const shift = windows[at]?.from ?? 0
    if (at > 0) {
      for (const logits of [start, end, inside]) logits.push(...Array<number>(GAP).fill(NEVER))
      for (const places of [from, to]) places.push(...Array<number>(GAP).fill(shift))
    }
    from.push(...span.from.map((place) => place + shift))
    to.push(...span.to.map((place) => place + shift))
    // Each window has its own score of "not mentioned".
    start.push(...span.start.map((logit) => logit - span.absent / 2))
    end.push(...span.end.map((logit) => logit - span.absent / 2))
    inside.push(...span.inside)
  }
  const sureness = ({ options, none }: ParameterReading): number => Math.max(...options) - none
  const { options, none } = readings.reduce((best, one) => (sureness(one) > sureness(best) ? one : best))
  const mentioned = Math.max(...readings.map((one) => one.mentioned))
  return { span: { from, to, start, end, inside, absent: 0 }, mentioned, options, none }
}
