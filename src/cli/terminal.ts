import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import { printable } from './printable.ts'

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
