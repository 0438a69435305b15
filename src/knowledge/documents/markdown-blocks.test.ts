import { expect, test } from 'vitest'
import { markdownBlocks } from './markdown-blocks.ts'
import { textDocument } from './text-document.ts'

const blocks = (text: string) =>
  markdownBlocks(text).map(({ kind, start, end, path }) => [kind, path.join(' › '), text.slice(start, end)])
const headings = (text: string) =>
  markdownBlocks(text).flatMap(({ kind, path }) => (kind === 'heading' ? [path.join(' › ')] : []))

test('the blocks of a document, each under its headings', () => {
  const text = `# Guide

Some text
on two lines.

- one
- two

1. first

| a | b |
|:--|---|
| 1 | 2 |

\`\`\`ts
const a = 1

const b = 2
\`\`\`

    indented()
> quoted
`
  expect(blocks(text)).toEqual([
    ['heading', 'Guide', '# Guide'],
    ['prose', 'Guide', 'Some text\non two lines.'],
    ['list', 'Guide', '- one\n- two'],
    ['list', 'Guide', '1. first'],
    ['table', 'Guide', '| a | b |\n|:--|---|\n| 1 | 2 |'],
    ['code', 'Guide', '```ts\nconst a = 1\n\nconst b = 2\n```'],
    ['code', 'Guide', '    indented()\n> quoted'],
  ])
})

test('a # in a code block is no heading, nor does a shorter or another fence end the block', () => {
  expect(headings('# Real\n````sh\n# not a heading\n```\n# nor this\n~~~~\n# nor this\n````\n# Next\nx')).toEqual([
    'Real',
    'Next',
  ])
  expect(headings('- item\n\n      ```\n      x\n# inside\n      ```\n# Out')).toEqual(['Out'])
  expect(headings('```one line```\n# Heading')).toEqual(['Heading'])
  expect(headings('```\n# never closed')).toEqual([])
  expect(headings('Text.\n\n    ```\n\n# Heading')).toEqual(['Heading'])
})

test('what begins with # but is no heading', () => {
  expect(headings('#hashtag\n\n####### seven\n\n#\n\n    # indented\n\n> # quoted\n\ntext # no')).toEqual([])
})

test('headings of all kinds, under those of lower levels', () => {
  const text = 'Title\n=====\n\n### Deep ###\n\nSub\n---\n\n#### x #1\n# C#\n'
  expect(headings(text)).toEqual(['Title', 'Title › Deep', 'Title › Sub', 'Title › Sub › x #1', 'C#'])
})

test('a line of dashes under several lines, a list or nothing is no underline', () => {
  expect(headings('two\nlines\n---\n\n- item\n---\n\n---\n\n***\n\nx\n=\n')).toEqual([])
})

test('a document is called what its settings say, else as its first heading, else as its file', () => {
  expect(textDocument('---\ntitle: "In front"\ndate: 1\n---\n# Heading', 'docs/a.md').title).toBe('In front')
  expect(textDocument('Text.\n\n## Heading', 'docs/a.md').title).toBe('Heading')
  expect(textDocument('Text.', 'docs/a.md').title).toBe('a.md')
  expect(textDocument('---\n\ntitle: x\n---\n', 'a.md').title).not.toBe('x')
})

test('a heading as long as a book is shortened where others stand under it', () => {
  const [heading] = markdownBlocks(`# ${'😀'.repeat(1000)}`)
  expect(heading?.path[0]?.length).toBeLessThanOrEqual(200)
  expect(heading?.path[0]?.isWellFormed()).toBe(true)
})
