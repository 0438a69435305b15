import { numbers } from '../retrieval/bootstrap.ts'

const WORDS = 20_000
const SYLLABLES = ['ba', 'co', 'di', 'fu', 'ge', 'lo', 'ma', 'ne', 'pi', 'ra', 'so', 'tu', 've', 'wo', 'xi', 'zu']

/** Text of words that are as frequent as those of a language are: the n-th most common comes 1/n times as often. */
export class MadeUpText {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = numbers(seed)
  }

  word(): string {
    return wordOf(Math.floor(WORDS ** this.#next()) - 1)
  }

  sentence(words = 12): string {
    const text = Array.from({ length: words }, () => this.word()).join(' ')
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  }

  /** Markdown with sections of a few paragraphs, at least this long. */
  document(characters: number): string {
    const parts = [`# ${this.sentence(4)}`]
    let length = 0
    while (length < characters) {
      const section = [`## ${this.sentence(3)}`]
      for (let paragraph = 0; paragraph < 3; paragraph++) {
        section.push(Array.from({ length: 6 }, () => this.sentence()).join(' '))
      }
      const text = section.join('\n\n')
      length += text.length
      parts.push(text)
    }
    return `${parts.join('\n\n')}\n`
  }
}

/** Different for each number, and longer for greater ones. */
function wordOf(rank: number): string {
  let text = ''
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    text += SYLLABLES[rest % SYLLABLES.length]
  }
  return text
}
