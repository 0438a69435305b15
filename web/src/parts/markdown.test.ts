import { expect, test } from 'vitest'
import { markdown } from './markdown.ts'

const text = (value: string) => ({ as: 'text', text: value })

test('plain text is one block with its line breaks', () => {
  expect(markdown('One\n  two')).toEqual([{ kind: 'text', parts: [text('One\n  two')] }])
})

test('empty lines separate blocks', () => {
  expect(markdown('One\n\n\nTwo\n')).toEqual([
    { kind: 'text', parts: [text('One')] },
    { kind: 'text', parts: [text('Two')] },
  ])
})

test('reads headings, lists and code', () => {
  expect(markdown('# Title\n- a\n- b\n3. c\n4. d\n```json\n{"x": "**1**"}\n```\nEnd')).toEqual([
    { kind: 'heading', parts: [text('Title')] },
    { kind: 'list', ordered: false, start: 1, items: [[text('a')], [text('b')]] },
    { kind: 'list', ordered: true, start: 3, items: [[text('c')], [text('d')]] },
    { kind: 'code', text: '{"x": "**1**"}' },
    { kind: 'text', parts: [text('End')] },
  ])
})

test('reads bold, italic and code inside a line', () => {
  expect(markdown('It is **very** *warm*: `22 ** 1`.')).toEqual([
    {
      kind: 'text',
      parts: [
        text('It is '),
        { as: 'strong', text: 'very' },
        text(' '),
        { as: 'em', text: 'warm' },
        text(': '),
        { as: 'code', text: '22 ** 1' },
        text('.'),
      ],
    },
  ])
})

test('arithmetic, names and HTML stay text', () => {
  for (const plain of ['2 * 3 * 4', '2*3*4', '2 ** 3 ** 4', 'get_the_weather', '<b>x</b>', '-5 °C', '#1', '5) ']) {
    expect(markdown(plain)).toEqual([{ kind: 'text', parts: [text(plain.trimEnd())] }])
  }
})

test('code that has not ended yet is code', () => {
  expect(markdown('```\nlet x')).toEqual([{ kind: 'code', text: 'let x' }])
})

test('a very long answer is shown as it is', () => {
  const long = '**a** '.repeat(20_000)
  expect(markdown(long)).toEqual([{ kind: 'text', parts: [text(long)] }])
})
