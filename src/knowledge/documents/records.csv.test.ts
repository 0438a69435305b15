import { expect, test } from 'vitest'
import { csvDocument, delimiterOf } from './records.ts'
import { splitDocument } from './split-document.ts'

const read = async (text: string) => (await csvDocument(text, 'a.csv'))?.text

test('labels values with their columns', async () => {
  const document = await csvDocument('name,age,city\nAda,36,London\n"Bob, Jr",,"New\nYork"\n', 'a.csv')
  expect(document?.text).toBe('name: Ada\nage: 36\ncity: London\n\nname: Bob, Jr\ncity: New\nYork')
  expect(document?.blocks.map(({ path, nth }) => [path, nth])).toEqual([
    [['row'], 1],
    [['row'], 2],
  ])
})

test('repeats columns in every chunk, with a row range', async () => {
  const rows = Array.from({ length: 50 }, (_, n) => `Name ${n},${n}`)
  const document = await csvDocument(`name,number\n${rows.join('\n')}`, 'a.csv')
  if (document === undefined) throw new Error('it is a table')
  const pieces = splitDocument(document, { chunkSize: 200 })
  expect(pieces.length).toBeGreaterThan(5)
  for (const piece of pieces) expect(piece.text).toMatch(/^name: Name \d+\nnumber: \d+/)
  expect(pieces[0]?.heading).toMatch(/^rows 1–\d+$/)
})

test.each([
  ['a,b\n1,2\n', ','],
  ['a;b\n1,5;2\n2,5;3\n', ';'],
  ['a\tb\n1\t2\n', '\t'],
  ['a|b|c\n1|2|3\n', '|'],
  ['name,text\nx,"a; b; c"\ny,"d; e; f"\n', ','],
  ['"a,b";c\n"d,e";f\n', ';'],
  ['größe;name\n1,5;ä\n2,5;ö\n', ';'],
  ['one column\nvalue\n', ','],
  ['', ','],
])('detects in %j the delimiter %j', (sample, delimiter) => {
  expect(delimiterOf(sample)).toBe(delimiter)
})

test('numbers columns without names', async () => {
  expect(await read('1,2\n3,4\n')).toBe('column 1: 1\ncolumn 2: 2\n\ncolumn 1: 3\ncolumn 2: 4')
  expect(await read(',b\nx,y\n')).toBe(
    'column 1: \n'.slice(0, 0) + 'column 1: b\n\ncolumn 1: x\ncolumn 2: y'.replace('column 1: b', 'column 2: b'),
  )
})

test('accepts rows of different lengths', async () => {
  expect(await read('a,b\n1\n1,2,3\n\n')).toBe('a: 1\n\na: 1\nb: 2\ncolumn 3: 3')
})

test('keeps quotes inside values', async () => {
  expect(await read('a,b\nsay "hi",2\n')).toBe('a: say "hi"\nb: 2')
  expect(await read('a,b\n"say ""hi""",2\n')).toBe('a: say "hi"\nb: 2')
})

test('returns undefined for an unclosed quote', async () => {
  expect(await read('a,b\n"x,1\n2,3\n')).toBeUndefined()
  expect(await read(`a,b\n"${'x'.repeat(3_000_000)}`)).toBeUndefined()
})

test('does not split surrogate pairs', async () => {
  const text = `a,b\n${'x😀,y\n'.repeat(40_000)}`
  expect((await read(text))?.includes('\ufffd')).toBe(false)
})

test('reads a header without rows, and an empty file', async () => {
  expect(await read('name,age\n')).toBe('name, age')
  expect(await read('')).toBe('')
})
