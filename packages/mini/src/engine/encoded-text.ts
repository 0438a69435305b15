/** Tokens of a text, and the characters that each stands for. */
export interface EncodedText {
  readonly ids: readonly number[]
  readonly from: readonly number[]
  readonly to: readonly number[]
}

/** What we use of the tokenizer: the tokens of one word. */
export interface WordEncoder {
  encode(text: string, options: { add_special_tokens: false }): { ids: number[]; tokens: string[] }
}

interface Word {
  /** Normalised, one entry a character, with where it came from. */
  readonly characters: string[]
  readonly from: number[]
  readonly to: number[]
}

const SPACE = /\s/u
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\uFFFD]/u
const MARKS = /\p{Mn}/gu
/** Punctuation, symbols of ASCII, and the scripts that are written without spaces: each character is a word. */
const ALONE = /[\p{P}$+<=>^`|~\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF]|[\u{20000}-\u{2CEAF}]/u
const UNKNOWN = '[UNK]'
/** Words repeat, above all those of tools. */
const MAX_REMEMBERED = 20_000

/** Encodes texts as the tokenizer does, which by itself does not say where a token stands. */
export class TextEncoder {
  readonly #words: WordEncoder
  readonly #known = new Map<string, { readonly ids: number[]; readonly tokens: string[] }>()

  constructor(words: WordEncoder) {
    this.#words = words
  }

  encode(text: string, mostTokens: number): EncodedText {
    const ids: number[] = []
    const from: number[] = []
    const to: number[] = []
    for (const word of wordsOf(text)) {
      const { ids: pieces, tokens } = this.#encodeWord(word.characters.join(''))
      let at = 0
      for (const [index, id] of pieces.entries()) {
        const token = tokens[index] as string
        const length = token === UNKNOWN ? word.characters.length - at : [...token.replace(/^##/, '')].length
        const last = Math.min(at + length, word.characters.length) - 1
        ids.push(id)
        from.push(word.from[Math.min(at, last)] as number)
        to.push(word.to[last] as number)
        at = last + 1
      }
      if (ids.length >= mostTokens) break
    }
    return { ids: ids.slice(0, mostTokens), from: from.slice(0, mostTokens), to: to.slice(0, mostTokens) }
  }

  #encodeWord(word: string): { readonly ids: number[]; readonly tokens: string[] } {
    const known = this.#known.get(word)
    if (known !== undefined) return known
    const { ids, tokens } = this.#words.encode(word, { add_special_tokens: false })
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear()
    this.#known.set(word, { ids, tokens })
    return { ids, tokens }
  }
}

function* wordsOf(text: string): Generator<Word> {
  let word: Word = { characters: [], from: [], to: [] }
  let at = 0
  for (const character of text) {
    const from = at
    at += character.length
    const alone = ALONE.test(character)
    if ((alone || SPACE.test(character)) && word.characters.length > 0) {
      yield word
      word = { characters: [], from: [], to: [] }
    }
    if (alone) yield { characters: [character], from: [from], to: [at] }
    else if (!SPACE.test(character) && !UNSEEN.test(character)) {
      for (const plain of character.normalize('NFD').replaceAll(MARKS, '').toLowerCase()) {
        word.characters.push(plain)
        word.from.push(from)
        word.to.push(at)
      }
    }
  }
  if (word.characters.length > 0) yield word
}
