import { FENCE_LABELS, MARKERS, type Marker } from './markers.ts'
import { Balance, PassedText } from './passed-text.ts'
import { CALL_KEYS } from './read-json-calls.ts'

/** A marker, a possible whole-message call, undecided, or no call. */
type Opening = Marker | 'whole' | 'maybe' | 'no'

interface Place {
  /** At the start of a line, outside code and quotes. */
  readonly marked: boolean
  /** Bare and fenced calls must be the whole message. */
  readonly whole: boolean
  readonly names: readonly string[]
}

/** Longer openings don't count, which keeps the work linear. */
const MAX_OPENING = 256
const BODY_START = /^[{[<｜`]/
const FENCE = /^```([\w-]*)[ \t\r]*(\n)?/
const NAME = /^[\w.-]+/

function judgeOpening(text: string, { marked, whole, names }: Place): Opening {
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

/** A name, or the prefixes of DeepSeek, Kimi and gpt-oss. */
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

/** Tracks a message that may consist of calls only, bare or fenced. */
class WholeMessage {
  readonly #lines = new PassedText()
  #balance = new Balance()
  #isBetween = false

  /** Whether the character closes a value or fence (`closed`), or can't be part of one (`broken`). */
  add(character: string): 'open' | 'closed' | 'broken' {
    const wasFenced = this.#lines.isFenced
    this.#lines.add(character)
    if (this.#lines.isFenced) return 'open'
    if (this.#isBetween) {
      if (/[\s,;`]/.test(character)) return 'open'
      if (character !== '{' && character !== '[') return 'broken'
      this.#isBetween = false
      this.#balance = new Balance()
    }
    this.#isBetween = wasFenced || this.#balance.closes(character)
    return this.#isBetween ? 'closed' : 'open'
  }
}

const MAX_HELD = 64 * 1024
const MAY_OPEN = /[<[{`]/g
/** After the lead-in only markers can open a call. */
const MAY_OPEN_LATER = /<(?=[a-z|｜]|$)|\[(?=T|$)/gi
const BLANKS = /\s*/y
const MAX_CLOSE = 32

/** Whether the text held back contains a call. */
type HasCall = (held: string, whole: boolean) => boolean

type State =
  | { readonly is: 'passing' | 'call' }
  /** Undecided until more text arrives. */
  | { readonly is: 'opening'; readonly text: string }
  | { readonly is: 'marked'; readonly marker: Marker; tail: string }
  | { readonly is: 'whole'; readonly message: WholeMessage; isRead: boolean }

const PASSING: State = { is: 'passing' }

/**
 * Passes streamed text on, but holds it back from the first character that may open a call until it is decided. If it
 * isn't a call, only its opening is examined again.
 */
export class HoldBack {
  readonly #names: readonly string[]
  readonly #hasCall: HasCall
  readonly #passed = new PassedText()
  #state: State = PASSING
  #held = ''

  constructor(names: readonly string[], hasCall: HasCall) {
    this.#names = names
    this.#hasCall = hasCall
  }

  get isWhole(): boolean {
    return this.#state.is === 'whole'
  }

  /** Returns the text that may be passed on. */
  push(next: string): string {
    const text = this.#takeOpening() + next
    let out = ''
    for (let at = 0; at < text.length; ) {
      if (this.#state.is === 'passing') {
        const [passed, end] = this.#pass(text, at)
        out += passed
        at = end
      } else out += this.#hold(text[at++] ?? '')
      if (this.#held.length > MAX_HELD) out += this.release()
    }
    return out
  }

  /** Returns all held text: it isn't a call. */
  release(): string {
    const held = this.#held
    this.#held = ''
    this.#state = PASSING
    this.#passed.add(held)
    return held
  }

  #takeOpening(): string {
    if (this.#state.is !== 'opening') return ''
    const { text } = this.#state
    this.#held = this.#held.slice(0, -text.length)
    this.#state = PASSING
    return text
  }

  #pass(text: string, from: number): [passed: string, end: number] {
    // Leading blanks belong to the call, if it is one.
    const blanks = this.#passed.hasBegun ? '' : match(BLANKS, text, from)
    this.#held += blanks
    const start = from + blanks.length
    const pattern = this.#passed.isLong ? MAY_OPEN_LATER : MAY_OPEN
    pattern.lastIndex = start
    const at = pattern.exec(text)?.index ?? text.length
    if (at > start) return [this.#let(text.slice(start, at)), at]
    if (at === text.length) return ['', at]
    const begun = text.slice(at, at + MAX_OPENING)
    const marked = this.#passed.mayStartCall
    const opening = judgeOpening(begun, { marked, whole: marked && !this.#passed.isLong, names: this.#names })
    if (opening === 'maybe' && begun.length < MAX_OPENING) {
      this.#held += begun
      this.#state = { is: 'opening', text: begun }
      return ['', text.length]
    }
    if (opening === 'maybe' || opening === 'no') return [this.#let(text.slice(at, at + 1)), at + 1]
    const isWhole = opening === 'whole'
    this.#state = isWhole
      ? { is: 'whole', message: new WholeMessage(), isRead: false }
      : { is: 'marked', marker: opening, tail: '' }
    return ['', at]
  }

  #let(text: string): string {
    this.#held += text
    return this.release()
  }

  #hold(character: string): string {
    const state = this.#state
    this.#held += character
    if (state.is === 'marked') {
      const { close } = state.marker
      state.tail = (state.tail + character).slice(-MAX_CLOSE)
      if (close === undefined || !state.tail.endsWith(close)) return ''
      if (!this.#hasCall(this.#held, false)) return this.release()
      // Holds everything to the end: if a real call follows, this is text after all.
      this.#state = { is: 'call' }
    } else if (state.is === 'whole') {
      const now = state.message.add(character)
      if (now === 'broken') return this.release()
      // Reading all values again for each one would be quadratic.
      if (now === 'open' || state.isRead) return ''
      state.isRead = true
      if (!this.#hasCall(this.#held, true)) return this.release()
    }
    return ''
  }
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}
