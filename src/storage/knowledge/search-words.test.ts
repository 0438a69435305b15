import { describe, expect, it } from 'vitest'
import { queryWords, searchWords } from './search-words.ts'

describe('the words of a text', () => {
  it.each([
    ['The Tool-Yard, 2nd edition.', ['the', 'tool', 'yard', '2nd', 'edition']],
    ['tools.max_iterations = 5', ['tools', 'max', 'iterations', '5']],
    ['Ünïcode ÉCOLE ﬁn ①', ['unicode', 'ecole', 'fin', '1']],
    ['ＡＢＣ ﾊﾝｶｸ', ['abc', 'ハン', 'ンカ', 'カク']],
    ['İstanbul', ['istanbul']],
    ['東京都', ['東京', '京都']],
    ['寺', ['寺']],
    ['GPT4で日本', ['gpt4', 'で日', '日本']],
    ['が', ['が']],
    ['한국어', ['한국', '국어']],
    ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
    ['𠮷野家x', ['𠮷野', '野家', 'x']],
    ['', []],
    ['?! — 👩‍🚀', []],
  ])('of %j are %j', (text, words) => {
    expect(searchWords(text)).toEqual(words)
  })

  it('are cut if they are too long, and never within a character', () => {
    const [long, wide] = searchWords(`${'x'.repeat(500)} ${'a'.repeat(63)}${'𝛃'.repeat(9)}`)
    expect(long).toBe('x'.repeat(64))
    expect(wide?.isWellFormed()).toBe(true)
  })

  it('hold no sign that a search language knows', () => {
    const signs = Array.from({ length: 0x2fff }, (_, code) => String.fromCharCode(code)).join(' x')
    expect(searchWords(signs).join('')).toMatch(/^[\p{L}\p{N}\p{M}]+$/u)
  })
})

describe('the words of a question', () => {
  it('are each looked for once, those that say nothing not at all', () => {
    expect(queryWords("What is the tool that isn't a Tool?")).toEqual(['tool', 'isn'])
    expect(queryWords('What is it of?')).toEqual([])
  })

  it('are no more than a search can bear', () => {
    expect(queryWords(Array.from({ length: 5_000 }, (_, index) => `w${index}`).join(' ')).length).toBe(400)
    expect(queryWords('x'.repeat(10_000_000))).toEqual(['x'.repeat(64)])
  })
})
