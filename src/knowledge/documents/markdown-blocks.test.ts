import { expect, test } from 'vitest'
import { markdownBlocks } from './markdown-blocks.ts'
import { textDocument } from './text-document.ts'

const blocks = (text: string) =>
  markdownBlocks(text).map(({ kind, start, end, path }) => [kind, path.join(' › '), text.slice(start, end)])
const headings = (text: string) =>
  markdownBlocks(text).flatMap(({ kind, path }) => (kind === 'heading' ? [path.join(' › ')] : []))

test('finds blocks with their headings', () => {
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

test('ignores # and other fences in a code block', () => {
  expect(headings('# Real\n````sh\n# not a heading\n```\n# nor this\n~~~~\n# nor this\n````\n# Next\nx')).toEqual([
    'Real',
    'Next',
  ])
  expect(headings('- item\n\n      ```\n      x\n# inside\n      ```\n# Out')).toEqual(['Out'])
  expect(headings('```one line```\n# Heading')).toEqual(['Heading'])
  expect(headings('```\n# never closed')).toEqual([])
  expect(headings('Text.\n\n    ```\n\n# Heading')).toEqual(['Heading'])
})

test('ignores lines with # that are not headings', () => {
  expect(headings('#hashtag\n\n####### seven\n\n#\n\n    # indented\n\n> # quoted\n\ntext # no')).toEqual([])
})

test('nests headings of all kinds by level', () => {
  const text = 'Title\n=====\n\n### Deep ###\n\nSub\n---\n\n#### x #1\n# C#\n'
  expect(headings(text)).toEqual(['Title', 'Title › Deep', 'Title › Sub', 'Title › Sub › x #1', 'C#'])
})

test('accepts an underline only below a single line', () => {
  expect(headings('two\nlines\n---\n\n- item\n---\n\n---\n\n***\n\nx\n=\n')).toEqual([])
})

test('takes the title from front matter, the first heading, or the file name', () => {
  expect(textDocument('---\ntitle: "In front"\ndate: 1\n---\n# Heading', 'docs/a.md').title).toBe('In front')
  expect(textDocument('Text.\n\n## Heading', 'docs/a.md').title).toBe('Heading')
  expect(textDocument('Text.', 'docs/a.md').title).toBe('a.md')
  expect(textDocument('---\n\ntitle: x\n---\n', 'a.md').title).not.toBe('x')
})

test('shortens long headings in paths', () => {
  const [heading] = markdownBlocks(`# ${'😀'.repeat(1000)}`)
  expect(heading?.path[0]?.length).toBeLessThanOrEqual(200)
  expect(heading?.path[0]?.isWellFormed()).toBe(true)
})

test('reads many paragraphs of two lines in linear time', () => {
  // With a search through the rest of the text for each paragraph, this would take minutes.
  expect(markdownBlocks('a\nb\n\n'.repeat(1_000_000))).toHaveLength(1_000_000)
})
