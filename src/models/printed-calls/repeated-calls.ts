import type { Message } from '../model.ts'
import type { PrintedCall } from './printed-call.ts'

/** More searches than one turn can need. Beyond that every call counts as repeated, which keeps the work linear. */
const MOST_SEARCHES = 32
/** Between the name of a call and its arguments, in either order, without what `plain` drops. */
const LONGEST_GAP = 40
/** Looked for first, and natively: most texts do not have it. */
const LONGEST_START = 32
const BEFORE_ARGUMENTS = /^\W*(?:(arguments|parameters|args|params|input|tool_input|action_input)\W*)?$/i
const BEFORE_NAME = /^\W*(?:name|tool|function|action)\W*$/i
const UNICODE_ESCAPE = /\\u([0-9a-f]{4})/gi
/** What quoting changes: white space, invisible characters, quotes, angle brackets, and how they are escaped. */
const CHANGED =
  /\\[bfnrt]?|&(?:quot|apos|lt|gt|#0{0,5}(?:34|39|60|62)|#x0{0,5}(?:22|27|3c|3e));|[\s\p{C}"'`<>‘’“”„«»]+/giu

/** Finds out whether a printed call repeats what the conversation holds already: then the model quotes, and asks nothing. */
export class RepeatedCalls {
  readonly #messages: readonly Message[]
  readonly #known = new Map<string, boolean>()
  #earlier: string | undefined
  #searches = 0

  constructor(messages: readonly Message[]) {
    this.#messages = messages
  }

  /** `body` is what stands between the markers of the `marked` text. */
  has(calls: readonly PrintedCall[], body: string, marked: string): boolean {
    const known = this.#known.get(marked) ?? this.#look(calls, body, marked)
    this.#known.set(marked, known)
    return known
  }

  #look(calls: readonly PrintedCall[], body: string, marked: string): boolean {
    const text = plain(body)
    // A name alone says little: every prompt that explains the tools has it.
    const isName = calls.some(({ name }) => plain(name) === text)
    return this.#occurs(isName ? plain(marked) : text, () => true) || calls.some((call) => this.#isCalled(call))
  }

  /** The same name beside the same arguments, whatever stands around them. */
  #isCalled({ name, args }: PrintedCall): boolean {
    const [tool, values] = [plain(name), plain(JSON.stringify(args))]
    const isEmpty = Object.keys(args).length === 0
    return this.#occurs(values, (earlier, at) => {
      const before = earlier.slice(Math.max(0, at - LONGEST_GAP - tool.length), at)
      const after = earlier.slice(at + values.length, at + values.length + LONGEST_GAP + tool.length)
      const [nameBefore, nameAfter] = [before.lastIndexOf(tool), after.indexOf(tool)]
      const gap = nameBefore === -1 ? null : BEFORE_ARGUMENTS.exec(before.slice(nameBefore + tool.length))
      if (gap !== null && (gap[1] !== undefined || !isEmpty)) return true
      return nameAfter !== -1 && BEFORE_NAME.test(after.slice(0, nameAfter))
    })
  }

  #occurs(piece: string, isMeant: (earlier: string, at: number) => boolean): boolean {
    if (++this.#searches > MOST_SEARCHES) return true
    this.#earlier ??= this.#messages.map(({ content }) => plain(content ?? '')).join('\0')
    return occursIn(this.#earlier, piece, isMeant)
  }
}

/** A text without what quoting it changes, such as the escapes of a tool result, which is JSON. */
function plain(text: string): string {
  const characters = text.replace(UNICODE_ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return characters.replace(CHANGED, '')
}

/** Whether a place where the piece occurs is meant. By Knuth, Morris and Pratt: `indexOf` alone can take quadratic time. */
function occursIn(text: string, piece: string, isMeant: (text: string, at: number) => boolean): boolean {
  if (piece === '' || !text.includes(piece.slice(0, LONGEST_START))) return false
  const borders = new Uint32Array(piece.length)
  let length = 0
  for (let at = 1; at < piece.length; at++) {
    const code = piece.charCodeAt(at)
    while (length > 0 && piece.charCodeAt(length) !== code) length = borders[length - 1] ?? 0
    if (piece.charCodeAt(length) === code) length++
    borders[at] = length
  }
  length = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    while (length > 0 && piece.charCodeAt(length) !== code) length = borders[length - 1] ?? 0
    if (piece.charCodeAt(length) === code) length++
    if (length < piece.length) continue
    if (isMeant(text, at + 1 - length)) return true
    length = borders[length - 1] ?? 0
  }
  return false
}
