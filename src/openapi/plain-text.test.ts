import { describe, expect, test } from 'vitest'
import { plainText, sentences, shortened } from './plain-text.ts'

describe('a text of a document becomes one plain paragraph', () => {
  test.each([
    ['lines', 'One\n\n  two\tthree ', 'One two three'],
    ['headings and quotes', '## Title\nText\n> [!NOTE]\n> Careful', 'Title Text Careful'],
    ['links and images', 'See [the docs](https://x.example/a?b=c) ![logo](x.png) now', 'See the docs now'],
    [
      'emphasis',
      '**Very** _important_ and `code`, but snake_case_names stay',
      'Very important and `code`, but snake_case_names stay',
    ],
    ['HTML', 'A <b>bold</b><br/>move<!-- secret --> to <owner>/<repo>', 'A bold move to <owner>/<repo>'],
    ['entities', 'a &lt; b &amp;&amp; c&nbsp;&gt; d', 'a < b && c > d'],
    ['tables', 'a | b\n--- | :---:\nc | d', 'a | b c | d'],
    ['code blocks', 'Do\n```json\n{"a": 1}\n```\nthen', 'Do {"a": 1} then'],
    ['control characters', 'a\u0000b\u001b[31mc\u202ed\ud800e\u200bf', 'a b [31mc d\ufffde f'],
  ])('%s', (_, written, expected) => {
    expect(plainText(written, 500)).toBe(expected)
  })

  test('is empty for other values', () => {
    expect([undefined, null, 5, {}, ['a']].map((value) => plainText(value, 100))).toEqual(['', '', '', '', ''])
  })

  test('hostile text is done with at once', () => {
    for (const piece of ['[', '<', '<!--', '-', '|-', '_a', '[a](', '![', '&', '`', '#', '> ']) {
      for (let times = 0; times < 20; times++) plainText(piece.repeat(100_000), 1024)
    }
  })
})

describe('a long text is cut', () => {
  test('at the end of a sentence', () => {
    expect(shortened('One two three. Four five six. Seven eight nine.', 32)).toBe('One two three. Four five six.')
  })

  test('between words if no sentence ends late enough', () => {
    expect(shortened('One. Two three four five six seven', 20)).toBe('One. Two three four…')
    expect(shortened('a'.repeat(50), 10)).toBe(`${'a'.repeat(9)}…`)
  })

  test('never through a character, and never longer than it may be', () => {
    for (let length = 2; length < 30; length++) {
      const cut = shortened('😀'.repeat(40), length)
      expect(cut.isWellFormed()).toBe(true)
      expect(cut.length).toBeLessThanOrEqual(length)
    }
  })
})

test('texts are joined as sentences', () => {
  expect(sentences('Deprecated', '', 'Lists "pets."', 'Default: 3')).toBe('Deprecated. Lists "pets." Default: 3')
})
