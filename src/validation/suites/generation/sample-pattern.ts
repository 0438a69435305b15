import { nativePattern } from '../../../core/schema/linear-pattern.ts'

/** Taken for an atom in this order. */
const LIKED = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./: #@+=,;!?&%$*()[]{}<>|~^"\'\\`']
const LONGEST_PATTERN = 1_000
const MAX_DEPTH = 20
/** A text that grows beyond this helps nobody. */
const LONGEST_TEXT = 300

const ATOM = /\[\^?(?:[^\]\\]|\\.)*\]|\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|.)|[^\\]/suy
const QUANTIFIER = /([*+?])\??|\{(\d+)(?:(,)(\d*))?\}\??/y
const GROUP = /\((?:\?(?::|<[A-Za-z_]\w*>))?/y

/** A text that the pattern should match, with about `repeats` of what may be repeated; undefined where it knows none. */
export function samplePattern(source: string, repeats = 1): string | undefined {
  if (source.length > LONGEST_PATTERN) return undefined
  const sampler = new Sampler(source, repeats)
  const text = sampler.alternatives(0)
  return sampler.ended ? text : undefined
}

class Sampler {
  readonly #source: string
  readonly #repeats: number
  #at = 0

  constructor(source: string, repeats: number) {
    this.#source = source
    this.#repeats = repeats
  }

  get ended(): boolean {
    return this.#at >= this.#source.length
  }

  /** The first alternative that has a text; the others are read over. */
  alternatives(depth: number): string | undefined {
    const texts = [this.#sequence(depth)]
    while (this.#source[this.#at] === '|') {
      this.#at++
      texts.push(this.#sequence(depth))
    }
    return texts.find((text) => text !== undefined)
  }

  #sequence(depth: number): string | undefined {
    let text: string | undefined = ''
    while (!this.ended && this.#source[this.#at] !== '|' && this.#source[this.#at] !== ')') {
      const part = this.#repeated(this.#part(depth))
      text = text === undefined || part === undefined ? undefined : text + part
    }
    return text
  }

  #part(depth: number): string | undefined {
    const character = this.#source[this.#at]
    if (character === '^' || character === '$') return this.#skip(1)
    if (/^\\[bB]/.test(this.#source.slice(this.#at, this.#at + 2))) return this.#skip(2)
    if (character !== '(') return oneOf(this.#take(ATOM) ?? this.#skipTo())
    const opening = this.#take(GROUP)
    // What only looks ahead or behind says nothing of what stands there.
    if (depth > MAX_DEPTH || opening === undefined || this.#source[this.#at] === '?') return this.#skipTo()
    const inside = this.alternatives(depth + 1)
    this.#at++
    return inside
  }

  #repeated(part: string | undefined): string | undefined {
    const found = this.#take(QUANTIFIER)
    if (found === undefined || part === undefined) return part
    const [, least = '', , most = ''] = /^\{(\d+)(,?)(\d*)/.exec(found) ?? []
    if (found[0] === '{') {
      const upTo = found.includes(',') ? (most === '' ? Number.POSITIVE_INFINITY : Number(most)) : Number(least)
      return bounded(part, Math.min(upTo, Math.max(Number(least), this.#repeats)))
    }
    return bounded(part, found[0] === '?' ? 1 : this.#repeats)
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #skip(length: number): string {
    this.#at += length
    return ''
  }

  /** Gives up: nothing after this is read. */
  #skipTo(): undefined {
    this.#at = this.#source.length + 1
    return undefined
  }
}

const bounded = (part: string, times: number): string | undefined =>
  part.length * times > LONGEST_TEXT ? undefined : part.repeat(times)

/** A character that a class, an escape or a plain character stands for. */
function oneOf(atom: string | undefined): string | undefined {
  if (atom === undefined) return undefined
  if (atom.length === 1 && atom !== '.') return atom
  try {
    const pattern = nativePattern(`^(?:${atom})$`)
    return LIKED.find((character) => pattern.test(character))
  } catch {
    return undefined
  }
}
