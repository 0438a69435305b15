import { styleText } from 'node:util'
import { printable } from './printable.ts'

type Style = Parameters<typeof styleText>[0]
type Stream = NodeJS.WriteStream

/** Where a command writes: results to stdout, everything else to stderr, colours only on a terminal. */
export interface Terminal {
  /** Whether stdout is for programs: then it gets one JSON document and nothing else. */
  readonly json: boolean
  /** Whether somebody watches the results. */
  readonly watched: boolean
  /** The columns of a watched terminal. */
  readonly columns: number
  /** A piece of result, as it comes. */
  write(text: string): void
  /** A line of result. */
  result(text: string): void
  /** The one document of `--json`. */
  document(value: unknown): void
  /** A line about the work. */
  note(text: string): void
  /** Styled for stdout, or as it is where that is no terminal. */
  style(style: Style, text: string): string
  /** The same for stderr. */
  styleNote(style: Style, text: string): string
}

/** The terminal that this process runs in. */
export function openTerminal(
  json: boolean,
  stdout: Stream = process.stdout,
  stderr: Stream = process.stderr,
): Terminal {
  const watched = stdout.isTTY === true
  const write = (stream: Stream, text: string) => void stream.write(`${text}\n`)
  return {
    json,
    watched,
    columns: stdout.columns || 80,
    write: (text) => void stdout.write(text),
    result: (text) => write(stdout, text),
    document: (value) => write(stdout, printable(JSON.stringify(value, undefined, watched ? 2 : undefined))),
    note: (text) => write(stderr, text),
    style: (style, text) => styled(stdout, style, text),
    styleNote: (style, text) => styled(stderr, style, text),
  }
}

/** `styleText` honours NO_COLOR; but FORCE_COLOR must not put colours into a pipe. */
const styled = (stream: Stream, style: Style, text: string): string =>
  stream.isTTY ? styleText(style, text, { stream }) : text
