import type { Marker } from './markers.ts'
import { judgeOpening, LONGEST_OPENING } from './opening.ts'
import { PassedText } from './passed-text.ts'
import { WholeMessage } from './whole-message.ts'

/** More than any call needs, and as much as anybody has to wait for. */
const MOST_HELD = 64 * 1024
const MAY_OPEN = /[<[{`]/g
/** Once the lead-in is over only markers can open, and with what they begin. */
const MAY_OPEN_LATER = /<(?=[a-z|｜]|$)|\[(?=T|$)/gi
const BLANKS = /\s*/y
const LONGEST_CLOSE = 32

/** Whether the text held back so far has a call in it. */
export type HasCall = (held: string, whole: boolean) => boolean

type State =
  | { readonly is: 'passing' | 'kept' }
  /** What may become an opening with the next text. */
  | { readonly is: 'opening'; readonly text: string }
  | { readonly is: 'marked'; readonly marker: Marker; tail: string }
  | { readonly is: 'whole'; readonly message: WholeMessage; isRead: boolean }

const PASSING: State = { is: 'passing' }

/**
 * Lets a streamed text through up to the first character that may open a call, and holds back from there until it is
 * certain that there is none. Of a text that proved to be none, only the opening is looked at again.
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

  /** Whether what is held can only be a call as a whole. */
  get isWhole(): boolean {
    return this.#state.is === 'whole'
  }

  /** Takes the next text and gives what may go on. */
  push(next: string): string {
    const text = this.#takeOpening() + next
    let out = ''
    for (let at = 0; at < text.length; ) {
      if (this.#state.is === 'passing') {
        const [passed, end] = this.#pass(text, at)
        out += passed
        at = end
      } else out += this.#hold(text[at++] ?? '')
      if (this.#held.length > MOST_HELD) out += this.release()
    }
    return out
  }

  /** Gives up what is held: it is text. */
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

  /** Goes on to the next opening, and says how far it came. */
  #pass(text: string, from: number): [passed: string, end: number] {
    // Blanks before everything else belong to the call, if it is one.
    const blanks = this.#passed.hasBegun ? '' : match(BLANKS, text, from)
    this.#held += blanks
    const start = from + blanks.length
    const pattern = this.#passed.isLong ? MAY_OPEN_LATER : MAY_OPEN
    pattern.lastIndex = start
    const at = pattern.exec(text)?.index ?? text.length
    if (at > start) return [this.#let(text.slice(start, at)), at]
    if (at === text.length) return ['', at]
    const begun = text.slice(at, at + LONGEST_OPENING)
    const marked = this.#passed.mayStartCall
    const opening = judgeOpening(begun, { marked, whole: marked && !this.#passed.isLong, names: this.#names })
    if (opening === 'maybe' && begun.length < LONGEST_OPENING) {
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
      state.tail = (state.tail + character).slice(-LONGEST_CLOSE)
      if (close === undefined || !state.tail.endsWith(close)) return ''
      if (!this.#hasCall(this.#held, false)) return this.release()
      // From here on everything waits for the end: a real call may still come, and then this is text after all.
      this.#state = { is: 'kept' }
    } else if (state.is === 'whole') {
      const now = state.message.add(character)
      if (now === 'broken') return this.release()
      // Only the first is read at once: to read all again with each would take its time.
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
