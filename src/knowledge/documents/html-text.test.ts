import { expect, test } from 'vitest'
import { pageText } from './extraction.ts'
import { extractHtml, HtmlText } from './html-text.ts'

const read = (html: string) => new HtmlText(html).text

test('converts headings, paragraphs, lists and links', () => {
  const page = new HtmlText(
    `<!doctype html><html><head><title>My &amp; page
     </title></head><body><h1>Main <em>heading</em></h1><p>Some <a href="/x">linked</a> text,<br>two lines.</p>
     <ol><li>first<li>second <ul><li>inner</li></ul></ol><h3>Sub</h3>Loose text</body></html>`,
  )
  expect(page.title).toBe('My & page')
  expect(page.text).toBe(
    '# Main heading\n\nSome linked text,\ntwo lines.\n\n1. first\n2. second\n  - inner\n\n### Sub\n\nLoose text',
  )
})

test('omits scripts, styles, navigation and hidden elements', () => {
  const hidden = [
    '<script>alert("a <b>")</script>',
    '<style>p { color: red }</style>',
    '<nav><ul><li>menu</li></ul></nav>',
    '<p hidden>secret</p>',
    '<div style="color: red; display : none">secret<div>more</div>secret</div>',
    '<span style="visibility:hidden">secret</span>',
    '<span aria-hidden="true">×</span>',
    '<template><p>secret</p></template>',
    '<noscript>secret</noscript>',
    '<svg><title>secret</title><text>secret</text></svg>',
    '<svg/>',
    '<select><option>secret</select>',
    '<dialog>secret</dialog>',
    '<!-- secret -->',
    '<img src="x.png">',
    '<?php secret ?>',
  ]
  for (const part of hidden) expect(read(`<p>before</p>${part}<p>after</p>`)).toBe('before\n\nafter')
})

test('ends hidden elements like a browser, also without an end tag', () => {
  expect(read('<p hidden>secret<p>shown')).toBe('shown')
  expect(read('<ul><li hidden>secret<ul><li>more</ul><li>shown</ul>')).toBe('- shown')
  expect(read('<div><p hidden>secret</div>shown')).toBe('shown')
  expect(read('<table><tr><td hidden>secret<td>a<td>b<tr hidden><td>x<tr><td>c<td>d</table>')).toBe(
    '| a | b |\n| --- | --- |\n| c | d |',
  )
  expect(read('<div hidden><p>a<p>b</div>shown')).toBe('shown')
})

test('converts data tables, but not layout tables', () => {
  expect(read('<table><thead><tr><th>Name<th>Age</thead><tr><td>Ada | A.<td>36</table>')).toBe(
    '| Name | Age |\n| --- | --- |\n| Ada \\| A. | 36 |',
  )
  expect(read('<table><tr><td>left<td><p>one</p><p>two</p></table>')).toBe('left\n\none\n\ntwo')
  expect(read('<table><tr><td><h1>Page</h1><table><tr><td>a<td>b</table></table>after')).toBe(
    '# Page\n\n| a | b |\n| --- | --- |\n\nafter',
  )
  expect(read('<td>loose</td><tr>cells')).toBe('loose\n\ncells')
})

test('keeps the lines of code in an unambiguous fence', () => {
  expect(read('<pre><code>a\n  b &lt; c\n</code></pre>')).toBe('```\na\n  b < c\n```')
  expect(read('<pre>```\nx\n```</pre>')).toBe('````\n```\nx\n```\n````')
  expect(read('<div><pre>open</div><p>after')).toBe('```\nopen\n```\n\nafter')
})

test('decodes entities and normalizes spaces', () => {
  expect(read('a&nbsp;b &eacute;&#x1F600;&#8364; co&shy;op &unknown; &lt;b&gt; AT&T')).toBe(
    'a b é😀€ coop &unknown; <b> AT&T',
  )
  expect(read('<p>  many\n\t spaces  <b> here </b> . </p>')).toBe('many spaces here .')
})

test('escapes text that looks like Markdown', () => {
  expect(read('<p># not a heading<br>```<p>#tag')).toBe('\\# not a heading\n\\```\n\n#tag')
})

test('reads malformed pages', () => {
  expect(read('<p>open <b>bold <i>both</b> text</div></p></nothing><')).toBe('open bold both text\n\n<')
  expect(read('text only')).toBe('text only')
  expect(read('<p title="never closed>text')).toBe('')
  expect(read('<h1>One<p>Two')).toBe('# One\n\nTwo')
  expect(read('')).toBe('')
})

test.each([
  ['elements', '<div>'.repeat(100_000), '</div>'.repeat(100_000)],
  ['elements that nobody closes', '<b>'.repeat(100_000), '</i>'.repeat(100_000)],
  ['tables', '<table><tr><td>'.repeat(100_000), '</table>'.repeat(100_000)],
  ['hidden elements', '<div hidden>'.repeat(100_000), `${'</div>'.repeat(100_000)}text`],
  ['foreign elements', '<svg>'.repeat(100_000), `${'</svg>'.repeat(100_000)}text`],
])('reads a hundred thousand nested %s in bounded time', (_, before, after) => {
  expect(read(`${before}text${after}`)).toBe('text')
})

test('reads deeply nested tables in bounded time', () => {
  const text = read('<table><tr><td>x'.repeat(150_000))
  expect(text.replaceAll(/\s/g, '')).toBe('x'.repeat(150_000))
})

test('reads deeply nested lists in bounded time, with limited indent', () => {
  expect(read(`${'<ul><li>'.repeat(100_000)}text${'</ul>'.repeat(100_000)}`)).toBe(`${'  '.repeat(4)}- text`)
})

const inParts = async (html: string, size: number) => {
  let parts = 0
  const page = await pageText(
    html,
    async (part) => {
      parts++
      // Serialized like between processes.
      return JSON.parse(JSON.stringify(extractHtml(JSON.parse(JSON.stringify(part)))))
    },
    size,
  )
  return { ...page, parts }
}

test('reads a large page in parts', async () => {
  const paragraphs = Array.from({ length: 3000 }, (_, n) => `<p>Paragraph ${n} 世界 <b>and</b> more ${n}</p>`)
  const html = `<title>Long</title><script>${'x'.repeat(30_000)}</script><h1>Head</h1>${paragraphs.join('')}`
  const { title, text, parts } = await inParts(html, 10_000)
  expect(parts).toBeGreaterThan(10)
  expect(title).toBe('Long')
  expect(text).toBe(read(html))
})

test('keeps a table that spans parts together', async () => {
  const rows = Array.from({ length: 2000 }, (_, n) => `<tr><td>row ${n}<td>value ${n}`)
  const html = `<p>Before<table><tr><th>a<th>b${rows.join('\n')}</table><p>After`
  const { text, parts } = await inParts(html, 10_000)
  expect(parts).toBeGreaterThan(5)
  expect(text).toBe(read(html))
  expect(text.match(/---/g)).toHaveLength(2)
})

test('continues numbering a list that spans parts', async () => {
  const items = Array.from({ length: 2000 }, (_, n) => `<li>item ${n}</li>`)
  const html = `<ol><li>outer<ol>${items.join('\n')}</ol><li>last</ol>`
  const { text, parts } = await inParts(html, 10_000)
  expect(parts).toBeGreaterThan(3)
  expect(text.replaceAll('\n\n', '\n')).toBe(read(html))
  expect(text).toContain('  2000. item 1999')
  expect(text.endsWith('\n2. last')).toBe(true)
})

test('splits a page without blocks at line breaks', async () => {
  const html = 'a line of text<br>\n'.repeat(40_000)
  const { text, parts } = await inParts(html, 200_000)
  expect(parts).toBeGreaterThan(3)
  expect(text.replaceAll('\n\n', '\n')).toBe(read(html).replaceAll('\n\n', '\n'))
})

test('rejects a page with a huge paragraph', async () => {
  await expect(inParts('word '.repeat(600_000), 100_000)).rejects.toThrow(
    expect.objectContaining({ code: 'HTML_TOO_LARGE', message: 'it has too much text without a paragraph' }),
  )
})
