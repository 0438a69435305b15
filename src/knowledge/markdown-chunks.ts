/** A piece of a document that can be found, and read, by itself. */
export interface Chunk {
  /** The document's first heading. */
  readonly title: string
  /** The heading that the piece stands under. */
  readonly heading: string
  readonly text: string
}

const LONGEST_CHUNK = 2_000
const HEADING = /^#{1,6}[ \t]+(\S.*?)[ \t]*#*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** Cuts a Markdown document at its headings, and long sections at their paragraphs. A `#` in a code block is no heading. */
export function markdownChunks(document: string, name: string): Chunk[] {
  const sections: { heading: string; lines: string[] }[] = [{ heading: '', lines: [] }]
  let fence: string | undefined
  for (const line of document.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1]
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined
    const heading = fence === undefined && mark === undefined ? HEADING.exec(line)?.[1] : undefined
    if (heading === undefined) sections.at(-1)?.lines.push(line)
    else sections.push({ heading, lines: [] })
  }
  const title = sections.find((section) => section.heading !== '')?.heading ?? name
  return sections.flatMap(({ heading, lines }) =>
    paragraphsTogether(lines.join('\n').trim()).map((text) => ({ title, heading: heading || title, text })),
  )
}

function paragraphsTogether(text: string): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const paragraph of text.split(/\n{2,}/).flatMap(cut)) {
    if (piece !== '' && piece.length + paragraph.length + 2 > LONGEST_CHUNK) {
      pieces.push(piece)
      piece = ''
    }
    piece = piece === '' ? paragraph : `${piece}\n\n${paragraph}`
  }
  return piece.trim() === '' ? pieces : [...pieces, piece]
}

/** A paragraph longer than a chunk: at the ends of lines where there are any. */
function cut(paragraph: string): string[] {
  const parts: string[] = []
  let rest = paragraph
  while (rest.length > LONGEST_CHUNK) {
    const end = rest.lastIndexOf('\n', LONGEST_CHUNK)
    const at = end > 0 ? end : LONGEST_CHUNK
    parts.push(rest.slice(0, at).toWellFormed())
    rest = rest.slice(at).replace(/^\n/, '')
  }
  return [...parts, rest]
}
