import { expect, test } from 'vitest'
import { expectWhole } from './fixtures/expect-whole.ts'
import { splitDocument } from './split-document.ts'
import { type TextFormat, textDocument } from './text-document.ts'

const split = (content: string, chunkSize = 100, format: TextFormat = 'markdown', overlap = 0) =>
  splitDocument(textDocument(content, 'a', format), { chunkSize, overlap })

const shown = (pieces: ReturnType<typeof split>) => pieces.map(({ heading, text }) => [heading, text])

const sentences = (count: number) =>
  Array.from({ length: count }, (_, index) => `Sentence number ${index} says a little.`).join(' ')

test('splits at headings and records their path', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => `${name} `.repeat(30).trim())
  expect(shown(split(`# Errors\n\n${a}\n\n## Timeouts ##\n\n${b}\n\n### Empty\n## Limits\n${c}\n`))).toEqual([
    ['Errors', `# Errors\n\n${a}`],
    ['Errors › Timeouts', `## Timeouts ##\n\n${b}`],
    ['Errors › Limits', `### Empty\n## Limits\n${c}`],
  ])
})

test('merges small sections under their common heading', () => {
  const pieces = split('# Start\n\n## One\n\nfirst\n\n## Two\n\nsecond\n\n# Other\n\nthird', 200)
  expect(shown(pieces)).toEqual([
    ['Start', '# Start\n\n## One\n\nfirst\n\n## Two\n\nsecond'],
    ['Other', '# Other\n\nthird'],
  ])
})

test('does not merge sections of different parts', () => {
  const pieces = split(`# A\n\n## Small\n\nx\n\n# B\n\n${'y '.repeat(30)}`, 100)
  expect(pieces.map((piece) => piece.heading)).toEqual(['A › Small', 'B'])
})

test('splits a long section at paragraphs into similar lengths', () => {
  const paragraphs = Array.from({ length: 11 }, (_, index) => `${index} ${'word '.repeat(5)}`.trim())
  const pieces = split(`# Long\n\n${paragraphs.join('\n\n')}`, 100)
  expect(pieces.every((piece) => piece.heading === 'Long')).toBe(true)
  const lengths = pieces.map((piece) => piece.text.length)
  expect(Math.min(...lengths)).toBeGreaterThan(50)
  expect(pieces.flatMap((piece) => piece.text.replace('# Long\n\n', '').split('\n\n'))).toEqual(paragraphs)
})

test('does not create a chunk for the last words of a section', () => {
  const pieces = split(`${'a '.repeat(20)}\n\n${'b '.repeat(47)}\n\n3`, 100)
  expect(pieces.map((piece) => piece.text.endsWith('\n\n3'))).toEqual([false, true])
})

test('splits a long paragraph after sentences', () => {
  const pieces = split(sentences(10), 100)
  expect(pieces.length).toBeGreaterThan(3)
  for (const piece of pieces) expect(piece.text).toMatch(/^Sentence .*little\.$/)
})

test('does not split after an abbreviation', () => {
  const text = `${'word '.repeat(12)}e.g. ${'word '.repeat(12)}end. Next.`
  expect(split(text, 90).map((piece) => piece.text.endsWith('e.g.'))).not.toContain(true)
})

test('overlaps chunks of long prose', () => {
  const pieces = split(sentences(20), 200, 'markdown', 50)
  expectWhole({ text: sentences(20) }, pieces, 200)
  for (const [index, piece] of pieces.slice(1).entries()) {
    const shared = (pieces[index]?.end ?? 0) - piece.start
    expect(shared).toBeGreaterThan(20)
    expect(shared).toBeLessThanOrEqual(50)
    expect(piece.text).toMatch(/^Sentence/)
  }
})

test('does not overlap paragraphs, lists, code or tables', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index} of many, that go on.`)
  for (const content of [
    lines.join('\n\n'),
    lines.map((line) => `- ${line}`).join('\n'),
    `\`\`\`\n${lines.join('\n')}\n\`\`\``,
    `| a |\n|---|\n${lines.map((line) => `| ${line} |`).join('\n')}`,
  ]) {
    const pieces = split(content, 100, 'markdown', 25)
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.every((piece, index) => index === 0 || piece.start >= (pieces[index - 1]?.end ?? 0))).toBe(true)
  }
})

test('keeps code and tables that fit whole', () => {
  const code = '```sh\n# not a heading\n\nls -l\n```'
  const table = '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |'
  const texts = split(`# T\n\n${sentences(2)}\n\n${code}\n\n${sentences(2)}\n\n${table}`, 90).map(({ text }) => text)
  expect(texts.filter((text) => text.includes(code) || text.includes(table))).toHaveLength(2)
})

test('splits a long table between rows', () => {
  const rows = Array.from({ length: 20 }, (_, index) => `| row ${index} | ${'x'.repeat(20)} |`)
  const pieces = split(`| a | b |\n|---|---|\n${rows.join('\n')}`, 100)
  expect(pieces.flatMap((piece) => piece.text.split('\n')).slice(2)).toEqual(rows)
})

test('keeps a heading with the text below it', () => {
  for (const length of [70, 85, 95, 150, 400]) {
    const pieces = split(`# A heading of some length\n\n${'word '.repeat(length / 5)}`, 100)
    expect(pieces[0]?.text.length).toBeGreaterThan(30)
  }
  const heading = `# A heading of more than forty characters`
  const code = `\`\`\`\n${'x\n'.repeat(20)}\`\`\``
  expect(split(`${heading}\n\n${code}\n\nSome more words under it.`, 100)[0]?.text).toBe(`${heading}\n\n${code}`)
  const longCode = `\`\`\`\n${'line of code\n'.repeat(30)}\`\`\``
  expect(split(`${heading}\n\n${longCode}`, 100)[0]?.text).toContain('line of code')
})

test('splits code between functions, or at small indents', () => {
  const method = (name: string) => `  ${name}() {\n    if (x) {\n      return ${'1 + '.repeat(8)}1\n    }\n  }\n`
  const source = `import a from 'a'\n\n// About f.\nfunction f() {\n  return 1\n}\n\nclass Big {\n${['a', 'b', 'c'].map(method).join('\n')}}\n`
  const pieces = split(source, 100, 'code')
  expectWhole({ text: source }, pieces, 100)
  expect(pieces.map((piece) => piece.heading)).toEqual(['', 'class Big', 'class Big', 'class Big'])
  expect(pieces[0]?.text).toBe("import a from 'a'\n\n// About f.\nfunction f() {\n  return 1\n}")
  expect(pieces.slice(1).map((piece) => piece.text.split('\n')[0])).toEqual(['class Big {', '  b() {', '  c() {'])
})

test('does not split lines of code that fit', () => {
  const lines = Array.from(
    { length: 40 },
    (_, index) => `${' '.repeat(index % 7)}statement(${index}) // and. More. Words.`,
  )
  const pieces = split(lines.join('\n'), 100, 'code')
  expect(pieces.flatMap((piece) => piece.text.split('\n'))).toEqual(lines)
  const minified = split(`short()\n${'a=b;'.repeat(100)}\nend()`, 100, 'code')
  expect(minified[0]?.text).toBe('short()')
  expect(minified.at(-1)?.text).toMatch(/a=b;\nend\(\)$/)
})

test('does not split characters of text without spaces', () => {
  const family = '👩‍👩‍👧'
  for (const text of ['😀'.repeat(500), family.repeat(200), 'é'.normalize('NFD').repeat(300), 'x'.repeat(999)]) {
    const pieces = split(text, 100)
    expectWhole({ text }, pieces, 100)
    for (const { text: piece } of pieces) expect(piece).not.toMatch(/^[\p{M}\u200d]|\u200d$/u)
  }
})

test('splits Chinese and Japanese text after sentences', () => {
  const pieces = split('這是一個用於測試的句子。'.repeat(40), 100)
  for (const piece of pieces) expect(piece.text.endsWith('。')).toBe(true)
})

test('names ranges of pages and items', () => {
  const page = (text: string) => `${text} ${'word '.repeat(38)}`
  const pieces = split(['one', 'two', page('three'), page('four')].join('\f'), 200, 'text')
  expect(pieces.map((piece) => piece.heading)).toEqual(['pages 1–2', 'page 3', 'page 4'])
})

test('returns no chunks for an empty document', () => {
  expect(split('')).toEqual([])
  expect(split(' \n\t\n\u00a0')).toEqual([])
})

test.each([
  [{ chunkSize: 49 }, 'chunk_size must be an integer from 50 to 32000 characters, not 49'],
  [{ chunkSize: 32_001 }, 'not 32001'],
  [{ chunkSize: 99.5 }, 'not 99.5'],
  [{ chunkSize: Number.NaN }, 'not NaN'],
  [{ chunkSize: 100, overlap: 26 }, 'overlap must be an integer from 0 to 25 characters, not 26'],
  [{ overlap: -1 }, 'not -1'],
])('rejects the options %j', (options, message) => {
  expect(() => splitDocument(textDocument('x', 'x'), options)).toThrow(
    expect.objectContaining({ code: 'INVALID_PARAMETERS', message: expect.stringContaining(message) }),
  )
})

// Quadratic time would exceed the test timeout.
test.each([
  ['one line without a space', 'x'.repeat(5_000_000)],
  ['one line of words', 'word '.repeat(1_000_000)],
  ['a million headings', '# a\n'.repeat(1_000_000)],
  ['nothing but spaces', ' '.repeat(5_000_000)],
  ['spaces between words', `a${' '.repeat(4000)}`.repeat(1000)],
  ['code blocks that never end', '```\n~~~\n'.repeat(300_000)],
  ['lists in lists', Array.from({ length: 3000 }, (_, depth) => `${' '.repeat(depth)}- x`).join('\n')],
  ['pages without lines', 'a\f'.repeat(500_000)],
  ['a thematic break as long as a book', '- '.repeat(3_000_000)],
  ['a heading as long as a book', `# ${'# '.repeat(1_000_000)}`],
])('splits %s in bounded time', (_, text) => {
  for (const format of ['markdown', 'text', 'code'] as const) {
    const pieces = splitDocument(textDocument(text, 'x', format))
    const longest = pieces.reduce((most, piece) => Math.max(most, piece.text.length, piece.heading.length), 0)
    expect(longest).toBeLessThanOrEqual(800)
  }
})
