import type { Output, Terminal } from '../terminal.ts'

const BAR = 24
/** Often enough to be seen moving, and no more. */
const DRAWN_EVERY_MS = 100
/** Where lines stay, fewer do. */
const WRITTEN_EVERY_MS = 2_000

/** How far the work is. */
export interface IngestState {
  readonly documents: number
  readonly of: number
  readonly chunks: number
  /** From 0 to 1. */
  readonly share: number
}

/** Tells on stderr how far the work is: a bar that is drawn over on a terminal, a line for every tenth elsewhere. */
export class ProgressLine {
  readonly #terminal: Terminal
  readonly #stream: Output
  #shownMs = performance.now()
  #tenth = 0
  #drawn = false

  constructor(terminal: Terminal, stream: Output = terminal.stderr) {
    this.#terminal = terminal
    this.#stream = stream
  }

  show(state: IngestState): void {
    if (this.#stream.isTTY) this.#draw(state)
    else this.#write(state)
  }

  /** A line that stays, in the place of the bar. */
  note(text: string): void {
    this.clear()
    this.#terminal.note(text)
  }

  clear(): void {
    if (this.#drawn) this.#stream.write('\r\u001b[K')
    this.#drawn = false
  }

  #draw(state: IngestState): void {
    const now = performance.now()
    if (this.#drawn && now - this.#shownMs < DRAWN_EVERY_MS) return
    this.#shownMs = now
    this.#drawn = true
    const full = Math.round(BAR * state.share)
    const bar = `${'█'.repeat(full)}${'░'.repeat(BAR - full)}`
    const text = `${bar} ${sentence(state)}`.slice(0, (this.#stream.columns || 80) - 1)
    this.#stream.write(`\r${text}\u001b[K`)
  }

  #write(state: IngestState): void {
    const tenth = Math.floor(state.share * 10)
    const now = performance.now()
    if (tenth <= this.#tenth || state.share >= 1 || now - this.#shownMs < WRITTEN_EVERY_MS) return
    this.#tenth = tenth
    this.#shownMs = now
    this.#terminal.note(`… ${sentence(state)}`)
  }
}

const sentence = ({ documents, of, chunks, share }: IngestState): string =>
  `${Math.floor(share * 100)} %, ${documents} of ${of} documents, ${chunks} chunks`
