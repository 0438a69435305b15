import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ChildMessage, ParentMessage } from './child-messages.ts'
import type { Packages } from './find-packages.ts'
import type { Pair, PairScore } from './pair-scorer.ts'

/** The heap; what the weights take lies outside it. */
const HEAP_MB = 256
/** What is kept of the words of a process that ended. */
const STDERR_CHARACTERS = 2000
const PROGRAM = fileURLToPath(new URL(`./child${extname(import.meta.filename)}`, import.meta.url))
/** The weights that come with Toolyard. */
export const WEIGHTS = join(import.meta.dirname, '..', '..', '..', '..', 'mini')

export interface ScorerProcessOptions {
  readonly packages: Packages
  readonly weights?: string
  readonly threads?: number
}

export interface ScorerProcessEvents {
  loaded(): void
  scored(id: number, scores: readonly PairScore[]): void
  /** It said that it cannot go on: files that are not what they should be, or a fault in the model. */
  failed(message: string): void
  gone(how: string): void
}

/** The process that holds the model, as its parent sees it. */
export class ScorerProcess {
  readonly #child: ChildProcess
  #stderr = ''

  constructor(
    { packages, weights = WEIGHTS, threads = 1 }: ScorerProcessOptions,
    events: ScorerProcessEvents,
    program: string = PROGRAM,
  ) {
    this.#child = fork(program, [], {
      cwd: '/',
      env: {},
      execArgv: [`--max-old-space-size=${HEAP_MB}`, '--no-warnings'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // A group of its own: Ctrl-C in a terminal is for us.
      detached: true,
    })
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(-STDERR_CHARACTERS)
    })
    let ended = false
    const gone = (how: string): void => {
      if (ended) return
      ended = true
      events.gone(this.#stderr === '' ? how : `${how}: ${this.#stderr.trim()}`)
    }
    this.#child.on('error', (error) => gone(error.message))
    this.#child.once('exit', (code, signal) => gone(signal === null ? `exit code ${code}` : `signal ${signal}`))
    this.#child.on('message', (message: ChildMessage) => {
      if (message.type === 'loaded') events.loaded()
      else if (message.type === 'scored') events.scored(message.id, message.scores)
      else events.failed(message.message)
    })
    this.#send({ type: 'load', ...packages, weights, threads })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  score(id: number, pairs: readonly Pair[]): void {
    this.#send({ type: 'score', id, pairs })
  }

  /** Whether our own process stays for it: only while somebody waits. */
  set needed(needed: boolean) {
    const { channel } = this.#child
    if (needed) {
      this.#child.ref()
      channel?.ref()
    } else {
      this.#child.unref()
      channel?.unref()
      ;(this.#child.stderr as unknown as { unref?(): void } | null)?.unref?.()
    }
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }

  /** A process that is gone cannot be told anything; that it is gone is heard by `exit`. */
  #send(message: ParentMessage): void {
    this.#child.send(message, () => {})
  }
}
