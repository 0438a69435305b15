import { expect, test } from 'vitest'
import { type IndexedTool, ToolIndex } from './tool-index.ts'

const tool = (name: string, description = '', properties = {}): IndexedTool => ({
  name,
  description,
  parameters: { type: 'object', properties },
})

function indexed(...tools: IndexedTool[]): ToolIndex {
  const index = new ToolIndex()
  for (const one of tools) index.set(one)
  return index
}

const all = () => true

test.each([
  ['a word of the name', 'weather please', 'get_weather'],
  ['a name in camel case', 'list invoices', 'listInvoices'],
  ['the description', 'rain tomorrow?', 'get_weather'],
  ['the name of a parameter', 'which latitude', 'find_place'],
  ['the description of a parameter', 'by postal code', 'find_place'],
  ['another form of a word', 'invoicing', 'listInvoices'],
  ['another word for it', 'text my mother', 'send_sms'],
  ['a missing letter', 'wether', 'get_weather'],
  ['the start of a word', 'weath', 'get_weather'],
])('finds a tool by %s', (_how, query, name) => {
  const index = indexed(
    tool('get_weather', 'Tells whether it will rain'),
    tool('listInvoices', 'All that are open'),
    tool('find_place', '', { latitude: { type: 'number' }, zip: { description: 'The postal code' } }),
    tool('send_sms', 'Send a message to a phone'),
    tool('archive', 'Stores ledgers'),
  )
  expect(index.search(query, 1, all)).toEqual([name])
})

test('finds nothing for words that no tool has, and nothing for no words', () => {
  const index = indexed(tool('get_weather', 'Tells whether it will rain'))
  for (const query of ['xylophone', '', '?!', 'the of and']) expect(index.search(query, 5, all)).toEqual([])
})

test('leaves out tools that are not accepted, and counts only the others', () => {
  const index = indexed(tool('send_one', 'Send'), tool('send_two', 'Send'), tool('send_three', 'Send'))
  expect(index.search('send', 2, (name) => name !== 'send_two')).toEqual(['send_one', 'send_three'])
})

test('prefers tools that were called more often, if they fit as well', () => {
  const index = indexed(tool('send_a', 'Send'), tool('send_b', 'Send'))
  expect(index.search('send', 1, all, new Map([['send_b', 3]]))).toEqual(['send_b'])
})

test('follows changes: a changed tool is found by its new words only, and a removed one is not found', async () => {
  const index = indexed(tool('one', 'Paint a wall'), tool('two', 'Cook a soup'))
  await index.update([
    ['one', tool('one', 'Repair a bicycle')],
    ['two', undefined],
    ['three', tool('three', 'Water the garden')],
  ])
  expect(['paint', 'bicycle', 'soup', 'garden'].map((word) => index.search(word, 1, all))).toEqual([
    [],
    ['one'],
    [],
    ['three'],
  ])
  expect(index.size).toBe(2)
})

test('ranks by meaning if there are vectors', async () => {
  const animals = new Set(['cat', 'kitten', 'feed', 'animal'])
  const of = (text: string) => Float32Array.from(text.split(/\W+/).some((word) => animals.has(word)) ? [1, 0] : [0, 1])
  const index = new ToolIndex({ size: 2, of })
  await index.update(['cat', 'car'].map((name) => [name, tool(name)]))
  expect(index.search('kitten', 1, all)).toEqual(['cat'])
})

test('reads only the start of a long query, and bounded parts of a tool', () => {
  const index = indexed(tool('late', `${'x '.repeat(10_000)} xylophone`), tool('early', 'xylophone'))
  expect(index.search(`xylophone ${'y'.repeat(1_000_000)} late`, 5, all)).toEqual(['early'])
})

test('indexes definitions whose parameters are described by anything, and changes them later', () => {
  const hostile = { a: { description: { toString: 1 } }, b: { description: 7 }, c: null, ['k'.repeat(100_000)]: {} }
  const index = indexed(tool('one', 'First', hostile), tool('two', 'Second'))
  index.set(tool('one', 'Changed', hostile))
  expect([index.search('changed', 5, all), index.search('first', 5, all)]).toEqual([['one'], []])
  index.delete('one')
  expect([index.search('changed', 5, all), index.search('second', 5, all)]).toEqual([[], ['two']])
})
