import { posix } from 'node:path'
import { type Block, cleanText, type ReadDocument } from './document.ts'
import { frontMatterEnd, markdownBlocks, shortened } from './markdown-blocks.ts'
import { firstLine, firstNonSpace, isSpace, lastNonSpace, lineEnd } from './text-scan.ts'

export type TextFormat = 'text' | 'markdown' | 'code'

const BLOCKS: Readonly<Record<TextFormat, (text: string) => Block[]>> = {
  text: (text) => textBlocks(text),
  markdown: markdownBlocks,
  code: codeBlocks,
}

/** Reads text, by default as Markdown, which includes plain text. */
export function textDocument(content: string, name: string, format: TextFormat = 'markdown'): ReadDocument {
  const text = cleanText(content)
  const blocks = BLOCKS[format](text)
  return { format, title: titleOf(name, text, blocks), text, blocks, warnings: [] }
}

const NO_PATH: readonly string[] = []
/** Lines that end a block, and comments. */
const CLOSING = /^(?:[\])}]|end\b|fi\b|done\b|esac\b|<\/)/
const REMARK = /^(?:\/\/|\/\*|\*|#|--|;|@|"""|'''|<!--|\[|(?:import|from|using|use|package|require|include)\b)/

/** Splits code at unindented lines after an empty line. The first line of a function or class becomes its heading. */
export function codeBlocks(text: string): Block[] {
  const blocks: Block[] = []
  let start = -1
  let end = 0
  let heading = ''
  let indented = false
  let blank = true
  const close = () => {
    if (start === -1) return
    const path = indented && heading !== '' ? [shortened(heading)] : NO_PATH
    blocks.push({ kind: 'code', start: firstLine(text, start, end), end: lastNonSpace(text, start, end), path, nth: 0 })
  }
  for (let line = 0; line < text.length; ) {
    const to = lineEnd(text, line, text.length)
    const ink = firstNonSpace(text, line, to)
    if (ink < to) {
      const word = ink === line ? text.slice(line, Math.min(to, line + 300)) : ''
      if (start === -1 || (blank && ink === line && !CLOSING.test(word))) {
        close()
        start = line
        heading = ''
        indented = false
      }
      if (ink > line) indented ||= heading !== ''
      else if (heading === '' && !REMARK.test(word)) heading = signature(word)
      end = to
    }
    blank = ink === to
    line = to + 1
  }
  close()
  return blocks
}

/** Without trailing opening brackets. */
function signature(line: string): string {
  let to = line.length
  while (to > 0 && (isSpace(line.charCodeAt(to - 1)) || '{(:='.includes(line.charAt(to - 1)))) to--
  return line.slice(0, to)
}

const PAGE: readonly string[] = ['page']

/** Splits text at empty lines, and into pages at form feeds. */
export function textBlocks(text: string, paged = text.includes('\f')): Block[] {
  const blocks: Block[] = []
  const path = paged ? PAGE : NO_PATH
  let page = paged ? 1 : 0
  let start = -1
  let textEnd = 0
  let newline = -1
  let feed = paged ? -1 : text.length
  for (let line = 0; line <= text.length; ) {
    if (newline < line) newline = next(text, '\n', line)
    if (feed < line) feed = next(text, '\f', line)
    const end = Math.min(newline, feed)
    const ink = firstNonSpace(text, line, end)
    if (ink < end) {
      if (start === -1) start = ink
      textEnd = end
    }
    if (start !== -1 && (ink === end || end === feed)) {
      blocks.push({ kind: 'prose', start, end: lastNonSpace(text, start, textEnd), path, nth: page })
      start = -1
    }
    if (paged && end === feed) page++
    line = end + 1
  }
  return blocks
}

function next(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at === -1 ? text.length : at
}

/** The document's own title, its first heading, or its file name. */
export function titleOf(name: string, text: string, blocks: readonly Block[], said = ''): string {
  const own =
    said.trim() || frontMatterTitle(text, blocks) || blocks.find(({ kind }) => kind === 'heading')?.path.at(-1)
  return shortened(own || posix.basename(name))
}

function frontMatterTitle(text: string, [first]: readonly Block[]): string | undefined {
  if (first === undefined || frontMatterEnd(text) !== first.end) return undefined
  const title = /^title:[ \t]*(\S.*)$/m.exec(text.slice(first.start, first.end))?.[1]?.trim()
  return title?.replace(/^(["'])(.*)\1$/, '$2')
}
