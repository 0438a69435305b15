import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PrintedThinking } from './ollama.ts'

function read(chunks: readonly string[]): { text: string; thinking: string } {
  const printed = new PrintedThinking()
  const text = chunks.map((chunk) => printed.push(chunk)).join('') + printed.end()
  return { text, thinking: printed.thinking }
}

describe('thinking printed into the answer', () => {
  test.each([
    ['<think>hm</think>\n\nParis.', 'Paris.', 'hm'],
    ['\n<think>\nhm\n</think>Paris.', 'Paris.', '\nhm\n'],
    ['<think></think>\n\nParis.', 'Paris.', ''],
    ['<think>a</think>\n<think>b</think>\nParis.', 'Paris.', 'ab'],
    ['<think>a < b, </thin k</think>x', 'x', 'a < b, </thin k'],
    ['<think>cut off by the lim', '', 'cut off by the lim'],
    ['<think>cut off </thi', '', 'cut off </thi'],
    ['Paris.', 'Paris.', ''],
    ['  Paris.', '  Paris.', ''],
    ['<thin line>', '<thin line>', ''],
    ['<thin', '<thin', ''],
    ['', '', ''],
    ['The tag <think>x</think> is for models.', 'The tag <think>x</think> is for models.', ''],
  ])('%j gives the text %j, in whatever pieces it comes', (input, text, thinking) => {
    expect(read([input])).toEqual({ text, thinking })
    expect(read([...input])).toEqual({ text, thinking })
    for (let at = 1; at < input.length; at++) {
      expect(read([input.slice(0, at), input.slice(at)])).toEqual({ text, thinking })
    }
  })

  test('text that cannot be a tag any more is given at once', () => {
    const printed = new PrintedThinking()
    expect(printed.push('<th')).toBe('')
    expect(printed.push('e answer')).toBe('<the answer')
    expect(printed.push(' <think>')).toBe(' <think>')
  })

  test('how the text is cut changes nothing', () => {
    const piece = fc.constantFrom('<think>', '</think>', '<', 'think>', '</', '\n', ' ', 'word', '<thi', 'nk>')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(read([...pieces.join('')])).toEqual(read([pieces.join('')]))
      }),
    )
  })
})
