import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { type Clock, systemClock } from '../../core/clock.ts'

/** The options that every command takes. */
export interface GlobalOptions {
  readonly json?: boolean
  readonly config?: string
  readonly verbose?: boolean
}

type Style = Parameters<typeof styleText>[0]

/** An output stream, which may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** What a command uses of the process it runs in. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** The folder that relative paths start from. */
  readonly cwd: string
}

/** The streams, the environment and the folder of this process. */
export const processIo = (): Io => ({
  // Read only by commands that need it: the first access opens the stream.
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
})

/** Receives the exit code of a command. */
export type Done = (code: number) => void

/** Turns command functions into commander actions: they get the arguments and all options, and return the exit code. */
export const actions =
  (terminal: Terminal, done: Done) =>
  (run: (terminal: Terminal, ...rest: never[]) => Promise<number>) =>
  async (...words: unknown[]): Promise<void> => {
    const command = words.at(-1) as Command
    done(await run(terminal, ...([...words.slice(0, -2), command.optsWithGlobals()] as never[])))
  }

/** What every command gets: results go to stdout, everything else to stderr, colours only to a terminal. */
export interface Terminal extends Io {
  /** True under `--json`: stdout gets one JSON document and nothing else. */
  readonly json: boolean
  /** True when stdout is a terminal. */
  readonly watched: boolean
  /** The width of that terminal. */
  readonly columns: number
  /** The absolute path of a file named on the command line. */
  path(file: string): string
  /** Writes a part of the result, without a line break. */
  write(text: string): void
  /** Writes a line of the result. */
  result(text: string): void
  /** Writes the JSON document of `--json`. */
  document(value: unknown): void
  /** Writes a line to stderr. */
  note(text: string): void
  /** Styles text for stdout; unchanged unless stdout is a terminal. */
  style(style: Style, text: string): string
  /** Styles text for stderr; unchanged unless stderr is a terminal. */
  styleNote(style: Style, text: string): string
}

/** Creates the terminal of a command. */
export function createTerminal(json: boolean, io: Io = processIo()): Terminal {
  const { stdout, stderr, cwd } = io
  const watched = stdout.isTTY === true
  const write = (stream: Output, text: string) => void stream.write(`${text}\n`)
  return {
    get stdin() {
      return io.stdin
    },
    stdout,
    stderr,
    cwd,
    // Absolute, because other parts resolve it against the folder of the process.
    env: { ...io.env, TOOLYARD_DATA: resolve(cwd, io.env.TOOLYARD_DATA || '.toolyard') },
    json,
    watched,
    columns: stdout.columns || 80,
    path: (file) => resolve(cwd, file),
    write: (text) => void stdout.write(text),
    result: (text) => write(stdout, text),
    document: (value) => write(stdout, printable(JSON.stringify(value, undefined, watched ? 2 : undefined))),
    note: (text) => write(stderr, text),
    style: (style, text) => styled(stdout, style, text),
    styleNote: (style, text) => styled(stderr, style, text),
  }
}

/** `styleText` honours NO_COLOR, but FORCE_COLOR must not put colours into a pipe. */
const styled = (stream: Output, style: Style, text: string): string =>
  stream.isTTY ? styleText(style, text, { stream }) : text

/** The command line is invalid: exit code 2. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UsageError'
  }
}

/** Characters that a terminal acts on: control characters, lone surrogates, marks that change the text direction. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/gu

/** Makes text safe for a terminal: unsafe characters are written as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped)
}

/** Like `printable`, and on one line. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, escaped)
}

/** Fits text into a column; it ends after a whole word, if there is one. */
export const fitted = (text: string, room: number): string =>
  text.length > room ? `${/^.*\S(?=\s)/s.exec(text.slice(0, room))?.[0] ?? text.slice(0, room - 1)}…` : text

/** Uses the escapes of JSON, so that printable JSON stays the same JSON. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Writes rows as columns, with the first cell of each in bold. */
export function showTable(terminal: Terminal, rows: readonly (readonly string[])[]): void {
  const cells = rows.map((row) => row.map(printableLine))
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  for (const row of cells) {
    const [first = '', ...rest] = row.map((cell, column) =>
      column === row.length - 1 ? cell : `${cell.padEnd(widths[column] ?? 0)}  `,
    )
    terminal.result(`${terminal.style('bold', first)}${rest.join('')}`.trimEnd())
  }
}

const BAR_WIDTH = 24
const DRAW_INTERVAL_MS = 100
const LINE_INTERVAL_MS = 2_000

interface ProgressOptions {
  readonly stream?: Output
  readonly clock?: Pick<Clock, 'now'>
}

/** Shows progress on stderr: a bar that is redrawn on a terminal, otherwise a line for every tenth. */
export class ProgressLine {
  readonly #terminal: Pick<Terminal, 'note'>
  readonly #stream: Output
  readonly #clock: Pick<Clock, 'now'>
  #shownMs: number
  #tenth = 0
  #drawn = false

  constructor(terminal: Terminal, { stream = terminal.stderr, clock = systemClock }: ProgressOptions = {}) {
    this.#terminal = terminal
    this.#stream = stream
    this.#clock = clock
    this.#shownMs = clock.now()
  }

  /** `share` is from 0 to 1. */
  show(share: number, text: string): void {
    const now = this.#clock.now()
    if (this.#stream.isTTY) {
      if (this.#drawn && now - this.#shownMs < DRAW_INTERVAL_MS) return
      this.#drawn = true
      const full = Math.floor(BAR_WIDTH * share)
      const line = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${text}`
      this.#stream.write(`\r${line.slice(0, (this.#stream.columns || 80) - 1)}\u001b[K`)
    } else {
      const tenth = Math.floor(share * 10)
      if (tenth <= this.#tenth || share >= 1 || now - this.#shownMs < LINE_INTERVAL_MS) return
      this.#tenth = tenth
      this.#terminal.note(`… ${text}`)
    }
    this.#shownMs = now
  }

  /** Writes a line in place of the bar. */
  note(text: string): void {
    this.clear()
    this.#terminal.note(text)
  }

  clear(): void {
    if (this.#drawn) this.#stream.write('\r\u001b[K')
    this.#drawn = false
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
type Interruption = keyof typeof EXIT_CODES

/** Ctrl-C cancels the running call. A second one ends the process at once. */
export class Interrupt {
  readonly #controller = new AbortController()
  readonly #listener = (name: Interruption) => this.#interrupt(name)
  /** Undefined until the process is interrupted. */
  exitCode: number | undefined

  constructor() {
    for (const name of Object.keys(EXIT_CODES)) process.on(name, this.#listener)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  stop(): void {
    for (const name of Object.keys(EXIT_CODES)) process.off(name, this.#listener)
  }

  #interrupt(name: Interruption): void {
    if (this.exitCode !== undefined) process.exit(this.exitCode)
    this.exitCode = EXIT_CODES[name]
    this.#controller.abort()
  }
}
