import { type Clock, systemClock } from '../../core/clock.ts'
import type { Trial } from '../../validation/running/trial.ts'
import { isJudged } from '../../validation/running/trial.ts'
import type { Output, Terminal } from '../terminal.ts'

const BAR = 24
/** Often enough to be seen moving, and no more. */
const EVERY_MS = 100
/** A line that stays is worth less, and a short run needs none. */
const LINE_EVERY_MS = 2_000

export interface ProgressOptions {
  /** Trials that are to be made. */
  readonly of: number
  readonly stream?: Output
  readonly clock?: Clock
}

/** Tells on stderr how far the trials are: a bar that is drawn over on a terminal, a line for every tenth elsewhere. */
export class TrialProgress {
  readonly #terminal: Terminal
  readonly #stream: Output
  readonly #clock: Clock
  readonly #of: number
  readonly #startedMs: number
  #drawnMs: number | undefined
  #lineMs: number
  #tenth = 0
  #done = 0
  #passed = 0
  #unanswered = 0

  constructor(terminal: Terminal, { of, stream = terminal.stderr, clock = systemClock }: ProgressOptions) {
    this.#terminal = terminal
    this.#stream = stream
    this.#clock = clock
    this.#of = of
    this.#startedMs = clock.now()
    this.#lineMs = this.#startedMs
  }

  add(trial: Trial): void {
    this.#done++
    if (trial.verdict.passed) this.#passed++
    if (!isJudged(trial)) this.#unanswered++
    if (this.#stream.isTTY) this.#draw()
    else this.#write()
  }

  /** A line that stays, in the place of the bar. */
  note(text: string): void {
    this.clear()
    this.#terminal.note(text)
  }

  clear(): void {
    if (this.#drawnMs !== undefined) this.#stream.write('\r\u001b[K')
    this.#drawnMs = undefined
  }

  #write(): void {
    const tenth = Math.floor((this.#done * 10) / this.#of)
    const now = this.#clock.now()
    if (tenth <= this.#tenth || this.#done >= this.#of || now - this.#lineMs < LINE_EVERY_MS) return
    this.#tenth = tenth
    this.#lineMs = now
    this.#terminal.note(`… ${this.#sentence()}`)
  }

  #draw(): void {
    const now = this.#clock.now()
    if (this.#drawnMs !== undefined && now - this.#drawnMs < EVERY_MS) return
    this.#drawnMs = now
    const full = Math.floor((BAR * this.#done) / this.#of)
    const text = `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${this.#sentence()}`
    this.#stream.write(`\r${text.slice(0, (this.#stream.columns || 80) - 1)}\u001b[K`)
  }

  #sentence(): string {
    const unanswered = this.#unanswered > 0 ? `, ${this.#unanswered} not answered` : ''
    const leftMs = ((this.#clock.now() - this.#startedMs) / this.#done) * (this.#of - this.#done)
    return `${this.#done} of ${this.#of} trials, ${this.#passed} passed${unanswered}, ${timeLeft(leftMs)} left`
  }
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}
