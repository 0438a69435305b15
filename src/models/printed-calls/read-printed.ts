import type { ToolCall } from '../model.ts'
import { MARKERS } from './markers.ts'
import type { PrintedCall } from './printed-call.ts'
import { readPythonCalls } from './read-python-calls.ts'
import { readSequence } from './read-sequence.ts'
import { readTaggedCalls } from './read-tagged-calls.ts'

/** A stretch of a message: text, or the calls that were printed there. */
export type Piece = { readonly text: string } | { readonly calls: readonly ToolCall[] }

/** Judges what was read: all of it, or none. */
export type Accept = (calls: readonly PrintedCall[]) => readonly ToolCall[] | undefined

/** Not behind a quote or a backtick: there somebody writes about them. */
const OPENINGS = new RegExp(
  `(?<![\`"'])(?:${MARKERS.map(({ open }) => open.replaceAll(/[[\]|]/g, '\\$&')).join('|')})`,
  'g',
)
const CLOSINGS: ReadonlySet<string | undefined> = new Set(MARKERS.map(({ close }) => close))

/** Reads a message that can only be calls as a whole: JSON, bare or fenced, or a fence with anything marked in it. */
export function readWhole(text: string, accept: Accept): Piece[] {
  const calls = guarded(() => {
    const inside = withoutFence(text.trim())
    const read = readSequence(text, 'unnamed') ?? readPythonCalls(inside)
    if (read !== undefined) return accept(read)
    const pieces = readMarked(inside, accept)
    return pieces.every((piece) => 'calls' in piece) ? pieces.flatMap((piece) => piece.calls) : undefined
  })
  return calls === undefined || calls.length === 0 ? [{ text }] : [{ calls }]
}

/** Reads the marked calls of a text; what stands between them stays text, blanks apart. */
export function readMarked(text: string, accept: Accept): Piece[] {
  const pieces: Piece[] = []
  const openings = [...text.matchAll(OPENINGS)]
  let textFrom = 0
  openings.forEach(({ 0: open, index: at }, number) => {
    const marker = MARKERS.find((one) => one.open === open)
    if (marker === undefined || at < textFrom) return
    // A call that was never closed ends where the next one opens, or with the message.
    const next = openings.slice(number + 1).find((one) => one[0] === open)?.index ?? text.length
    const inside = text.slice(at, next)
    const close = marker.close === undefined ? -1 : inside.indexOf(marker.close)
    const end = close === -1 ? next : at + close + (marker.close?.length ?? 0)
    const body = marker.named ? text.slice(at, end) : inside.slice(open.length, close === -1 ? undefined : close)
    const calls = guarded(() => accept(readBody(body) ?? []))
    if (calls === undefined || calls.length === 0) return
    pieces.push({ text: text.slice(textFrom, at) }, { calls })
    textFrom = end
  })
  if (pieces.length === 0) return [{ text }]
  return [...pieces, { text: text.slice(textFrom) }].filter((piece) => !isBlank(piece))
}

const readBody = (body: string): PrintedCall[] | undefined =>
  readTaggedCalls(body) ?? readSequence(body, 'named') ?? readPythonCalls(body)

/** Nothing to read in it: blanks, or a closing whose opening the model forgot. */
function isBlank(piece: Piece): boolean {
  if ('calls' in piece) return false
  const text = piece.text.trim()
  return text === '' || CLOSINGS.has(text)
}

function withoutFence(text: string): string {
  if (!text.startsWith('```')) return text
  return text.slice(text.indexOf('\n') + 1, text.endsWith('```') ? -3 : undefined)
}

/** Whatever a model printed, and however deep, reading it must not fail. */
function guarded<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
