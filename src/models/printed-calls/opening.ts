import { FENCE_LABELS, MARKERS, type Marker } from './markers.ts'
import { CALL_KEYS } from './read-json-calls.ts'

/** A marker that has opened, a message that may be a call as a whole, something not yet decided, or no call. */
export type Opening = Marker | 'whole' | 'maybe' | 'no'

/** What may open at a place of the text. */
export interface Place {
  /** Markers count at the start of a line, outside of code and quotes. */
  readonly marked: boolean
  /** Bare and fenced calls count only where they can be the whole message. */
  readonly whole: boolean
  readonly names: readonly string[]
}

/** An opening with more blanks in it than this is none; the bound keeps the judging linear. */
export const LONGEST_OPENING = 256
const BODY_START = /^[{[<｜`]/
const FENCE = /^```([\w-]*)[ \t\r]*(\n)?/
const NAME = /^[\w.-]+/

/** Judges whether a text begins with the opening of a call. */
export function judgeOpening(text: string, { marked, whole, names }: Place): Opening {
  const asMarker = marked ? markerOpening(text, names) : 'no'
  return asMarker === 'no' && whole ? wholeOpening(text, names) : asMarker
}

function markerOpening(text: string, names: readonly string[]): Opening {
  for (const marker of MARKERS) {
    if (marker.open.startsWith(text)) return 'maybe'
    if (!text.startsWith(marker.open)) continue
    const body = text.slice(marker.open.length).trimStart()
    if (body === '') return 'maybe'
    return BODY_START.test(body) ? marker : namedOpening(body, marker, names)
  }
  return 'no'
}

/** A name, or what DeepSeek, Kimi and gpt-oss put before it. */
function namedOpening(body: string, marker: Marker, names: readonly string[]): Opening {
  const name = NAME.exec(body)?.[0] ?? ''
  const known = (one: string) => one === name || `functions.${one}` === name || name === 'function'
  const begun = (one: string) => one.startsWith(name) || `functions.${one}`.startsWith(name)
  if (name === body && name !== '') return names.some(begun) ? 'maybe' : 'no'
  return names.some(known) ? marker : 'no'
}

function wholeOpening(text: string, names: readonly string[]): Opening {
  if (text.startsWith('{')) return objectOpening(text)
  if (text.startsWith('[')) return listOpening(text, names)
  return text.startsWith('`') ? fenceOpening(text, names) : 'no'
}

function objectOpening(text: string): Opening {
  const inside = text.slice(1).trimStart()
  if (inside === '') return 'maybe'
  const [quote, key = '', end] = inside.split('"', 3)
  if (quote !== '') return 'no'
  if (end === undefined) return CALL_KEYS.some((one) => one.startsWith(key)) ? 'maybe' : 'no'
  return CALL_KEYS.includes(key) ? 'whole' : 'no'
}

function listOpening(text: string, names: readonly string[]): Opening {
  const inside = text.slice(1).trimStart()
  if (inside === '') return 'maybe'
  return inside.startsWith('{') ? objectOpening(inside) : pythonOpening(inside, names)
}

/** `name(`, the name being one of those offered. */
function pythonOpening(text: string, names: readonly string[]): Opening {
  const name = NAME.exec(text)?.[0] ?? ''
  if (name === '') return 'no'
  if (name === text) return names.some((one) => one.startsWith(name)) ? 'maybe' : 'no'
  return text[name.length] === '(' && names.includes(name) ? 'whole' : 'no'
}

function fenceOpening(text: string, names: readonly string[]): Opening {
  if ('```'.startsWith(text)) return 'maybe'
  const [head = '', label = '', lineEnd] = FENCE.exec(text) ?? []
  if (head === '') return 'no'
  if (lineEnd === undefined) {
    return head === text && FENCE_LABELS.some((one) => one.startsWith(label)) ? 'maybe' : 'no'
  }
  const body = text.slice(head.length).trimStart()
  if (!FENCE_LABELS.includes(label)) return 'no'
  if (body === '') return 'maybe'
  const opening = body.startsWith('<') ? markerOpening(body, names) : wholeOpening(body, names)
  if (opening !== 'no') return typeof opening === 'object' ? 'whole' : opening
  return pythonOpening(body, names)
}
