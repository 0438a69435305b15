import { expect, test } from 'vitest'
import { markdownChunks } from './markdown-chunks.ts'

test('a document is cut at its headings, each piece under its own', () => {
  const chunks = markdownChunks(
    '# Errors\n\nIntro.\n\n## Timeouts ##\n\nLate.\r\n\n### Empty\n## Limits\nFull.\n',
    'errors.md',
  )
  expect(chunks).toEqual([
    { title: 'Errors', heading: 'Errors', text: 'Intro.' },
    { title: 'Errors', heading: 'Timeouts', text: 'Late.' },
    { title: 'Errors', heading: 'Limits', text: 'Full.' },
  ])
})

test('a # in a code block is no heading, nor does a shorter fence end the block', () => {
  const code = '````sh\n# not a heading\n```\n# nor this\n````'
  expect(markdownChunks(`# Real\n${code}\n# Next\nx`, 'a.md').map((chunk) => chunk.heading)).toEqual(['Real', 'Next'])
})

test('a document without headings goes by its name, and an empty one has no pieces', () => {
  expect(markdownChunks('Just text.', 'note.md')).toEqual([
    { title: 'note.md', heading: 'note.md', text: 'Just text.' },
  ])
  expect(markdownChunks('\n \n', 'note.md')).toEqual([])
})

test('a long section is cut at its paragraphs, and nothing is lost', () => {
  const paragraphs = Array.from({ length: 10 }, (_, index) => `${index} ${'word '.repeat(100)}`.trim())
  const chunks = markdownChunks(`# Long\n\n${paragraphs.join('\n\n')}`, 'long.md')
  expect(chunks.length).toBeGreaterThan(1)
  expect(chunks.every((chunk) => chunk.text.length <= 2_000)).toBe(true)
  expect(chunks.map((chunk) => chunk.text).join('\n\n')).toBe(paragraphs.join('\n\n'))
})

test('a paragraph longer than a piece is cut at lines', () => {
  const lines = Array.from({ length: 100 }, (_, index) => `| row ${index} | ${'x'.repeat(40)} |`)
  const chunks = markdownChunks(`# Table\n\n${lines.join('\n')}`, 'table.md')
  expect(chunks.every((chunk) => chunk.text.length <= 2_000 && chunk.text.startsWith('| row'))).toBe(true)
  expect(chunks.flatMap((chunk) => chunk.text.split(/\n+/))).toEqual(lines)
})
