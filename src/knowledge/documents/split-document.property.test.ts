import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectBlocks, expectWhole } from './fixtures/expect-whole.ts'
import { csvDocument, jsonDocument } from './records.ts'
import { splitDocument } from './split-document.ts'
import { textDocument } from './text-document.ts'

const word = fc.oneof(
  { weight: 10, arbitrary: fc.stringMatching(/^[a-zA-Z]{1,9}[.,!?]?$/) },
  fc.constantFrom(
    'e.g.',
    '😀',
    '👩‍👩‍👧',
    'é',
    '這是。',
    '#',
    '-',
    '1.',
    '|',
    '`x`',
    '\u00a0',
    '\u3000',
    '"end."',
    'x'.repeat(130),
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
)
const line = fc.array(word, { maxLength: 25 }).map((words) => words.join(' '))
const fence = fc.array(line, { maxLength: 5 }).map((lines) => `\`\`\`\n${lines.join('\n').replaceAll('`', '')}\n\`\`\``)
const part = fc.oneof(
  { weight: 6, arbitrary: line },
  line.map((text) => `# ${text}`),
  line.map((text) => `### ${text} ###`),
  line.map((text) => `${text}\n---`),
  line.map((text) => `- ${text}`),
  line.map((text) => `      ${text}`),
  line.map((text) => `| ${text} | b |\n|---|---|\n| ${text} | d |`),
  fence,
  fc.constantFrom('', '', '\f', '~~~', '---', ' '.repeat(300), '\t', '}', '=='),
)
const content = fc
  .array(fc.tuple(part, fc.constantFrom('\n', '\n', '\n\n', '\r\n', '\r', ' ')), { maxLength: 40 })
  .map((parts) => parts.flat().join(''))
const size = fc.integer({ min: 50, max: 400 })
const options = size.chain((chunkSize) =>
  fc.record({ chunkSize: fc.constant(chunkSize), overlap: fc.integer({ min: 0, max: Math.floor(chunkSize / 4) }) }),
)

test.each(['text', 'markdown', 'code'] as const)('covers all text of a %s', (format) => {
  fc.assert(
    fc.property(content, options, (text, how) => {
      const document = textDocument(text, 'x', format)
      expectBlocks(document)
      expectWhole(document, splitDocument(document, how), how.chunkSize)
    }),
    { numRuns: 400 },
  )
})

test('covers all text of a JSON document', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), options, (text, how) => {
      const document = jsonDocument(text, 'x.json')
      if (document === undefined) throw new Error('it is JSON')
      expectBlocks(document)
      expectWhole(document, splitDocument(document, how), how.chunkSize)
    }),
    { numRuns: 300 },
  )
})

test('covers all text of a table', async () => {
  const cell = line.map((text) => `"${text.replaceAll('"', '""')}"`)
  const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(table, options, async (rows, how) => {
      const document = await csvDocument(rows.map((cells) => cells.join(',')).join('\n'), 'x.csv')
      if (document === undefined) throw new Error('it is a table')
      expectBlocks(document)
      expectWhole(document, splitDocument(document, how), how.chunkSize)
    }),
    { numRuns: 100 },
  )
})

test('never cuts a code block that fits', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fence,
          line.map((text) => `x ${text}`.replaceAll('`', '')),
        ),
        { maxLength: 12 },
      ),
      size,
      (parts, chunkSize) => {
        const document = textDocument(parts.join('\n\n'), 'x.md')
        const pieces = splitDocument(document, { chunkSize })
        const whole = document.blocks.filter(({ kind, start, end }) => kind === 'code' && end - start <= chunkSize)
        for (const { start, end } of whole) {
          expect(pieces.some((piece) => piece.start <= start && piece.end >= end)).toBe(true)
        }
      },
    ),
    { numRuns: 300 },
  )
})
