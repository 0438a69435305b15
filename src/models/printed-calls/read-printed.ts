import type { ToolCall } from '../model.ts'
import { MARKERS } from './markers.ts'
import { PassedText } from './passed-text.ts'
import type { PrintedCall } from './printed-call.ts'
import { readPythonCalls } from './read-python-calls.ts'
import { readSequence } from './read-sequence.ts'
import { readTaggedCalls } from './read-tagged-calls.ts'

/** A stretch of a message: text, or the calls that were printed there. */
export type Piece = { readonly text: string } | { readonly calls: readonly ToolCall[] }

/** Judges what was read: all of it, or none. `body` is what was read, `marked` the same with its markers. */
export type Accept = (calls: readonly PrintedCall[], body: string, marked: string) => readonly ToolCall[] | undefined

const escaped = (text: string): string => text.replaceAll(/[[\]|]/g, '\\$&')
const OPENINGS = new RegExp(MARKERS.map(({ open }) => escaped(open)).join('|'), 'g')
const CLOSINGS = MARKERS.map(({ close }) => close).filter((close) => close !== undefined)
const TOKEN = /<\|[\w/]{1,40}\|>/
const OTHER_CLOSINGS = CLOSINGS.filter((close) => !TOKEN.test(close)).map(escaped)
/** The rest of a line that says nothing: blanks, tokens of templates, and a closing whose opening the model forgot. */
const LINE_END = new RegExp(`^(?:[ \\t\\r]|</s>|${TOKEN.source}|${OTHER_CLOSINGS.join('|')})*(?:\\n|$)`)

/** Reads a message that can only be calls as a whole: JSON, bare or fenced, or a fence with anything marked in it. */
export function readWhole(text: string, accept: Accept): Piece[] {
  const calls = guarded(() => {
    const inside = withoutFence(text.trim())
    const read = readSequence(text, 'unnamed') ?? readPythonCalls(inside)
    if (read !== undefined) return accept(read, inside, text)
    const pieces = readMarked(inside, accept)
    return pieces.every((piece) => 'calls' in piece) ? pieces.flatMap((piece) => piece.calls) : undefined
  })
  return calls === undefined || calls.length === 0 ? [{ text }] : [{ calls }]
}

interface MarkedCall {
  readonly calls: readonly ToolCall[]
  readonly from: number
  readonly end: number
}

/** Reads the marked calls of a text that have lines of their own; what stands between them stays text, blanks apart. */
export function readMarked(text: string, accept: Accept): Piece[] {
  const found: MarkedCall[] = []
  const openings = [...text.matchAll(OPENINGS)]
  const passed = new PassedText()
  let readTo = 0
  openings.forEach(({ 0: open, index: at }, number) => {
    const marker = MARKERS.find((one) => one.open === open)
    if (marker === undefined || at < readTo) return
    passed.add(text.slice(readTo, at))
    readTo = at
    if (!passed.mayStartCall) return
    // A call that was never closed ends where the next one opens, or with the message.
    const next = openings.slice(number + 1).find((one) => one[0] === open)?.index ?? text.length
    const inside = text.slice(at, next)
    const close = marker.close === undefined ? -1 : inside.indexOf(marker.close)
    const end = close === -1 ? next : at + close + (marker.close?.length ?? 0)
    const body = marker.named ? text.slice(at, end) : inside.slice(open.length, close === -1 ? undefined : close)
    const calls = guarded(() => accept(readBody(body) ?? [], body, text.slice(at, end)))
    if (calls === undefined || calls.length === 0) return
    found.push({ calls, from: at, end })
    // Another call may follow on the same line.
    readTo = end
  })
  return piecesOf(text, endingLines(text, found))
}

/** The calls behind which nothing else stands on the line: in mid-sentence a call is talked about. */
function endingLines(text: string, found: readonly MarkedCall[]): readonly MarkedCall[] {
  const kept: MarkedCall[] = []
  for (const call of found.toReversed()) if (LINE_END.test(text.slice(call.end, kept.at(-1)?.from))) kept.push(call)
  return kept.toReversed()
}

function piecesOf(text: string, found: readonly MarkedCall[]): Piece[] {
  if (found.length === 0) return [{ text }]
  let textFrom = 0
  const pieces: Piece[] = []
  for (const { calls, from, end } of found) {
    pieces.push({ text: text.slice(textFrom, from) }, { calls })
    textFrom = end
  }
  return [...pieces, { text: text.slice(textFrom) }].filter((piece) => !isBlank(piece))
}

const readBody = (body: string): PrintedCall[] | undefined =>
  readTaggedCalls(body) ?? readSequence(body, 'named') ?? readPythonCalls(body)

/** Nothing to read in it: blanks, or a closing whose opening the model forgot. */
function isBlank(piece: Piece): boolean {
  if ('calls' in piece) return false
  const text = piece.text.trim()
  return text === '' || CLOSINGS.includes(text)
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
