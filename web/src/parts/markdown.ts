/** A part of a line. */
export interface Inline {
  readonly as: 'text' | 'strong' | 'em' | 'code'
  readonly text: string
}

/** A part of a text. */
export type Block =
  | { readonly kind: 'text' | 'heading'; readonly parts: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly start: number; readonly items: readonly Inline[][] }

/** Longer answers are shown as they are. */
const MOST_CHARACTERS = 50_000

const FENCE = /^\s*(`{3,}|~{3,})/
const HEADING = /^#{1,6} +(\S.*)$/
const ITEM = /^ {0,3}(?:[-*+]|(\d{1,9})[.)]) +(\S.*)$/
const INLINE = /`([^`\n]+)`|\*\*(\S|\S[^\n]{0,500}?\S)\*\*|(?<![\w*])\*(\S|[^\s*][^*\n]*?[^\s*])\*(?![\w*])/g

/** The Markdown that models write most: headings, flat lists, code, bold and italic text. The rest stays text. */
export function markdown(text: string): readonly Block[] {
  if (text.length > MOST_CHARACTERS) return [{ kind: 'text', parts: [{ as: 'text', text }] }]
  const blocks: Block[] = []
  const lines = text.split('\n')
  let said: string[] = []
  const endText = () => {
    const whole = said.join('\n').replace(/^\n+|\s+$/g, '')
    if (whole !== '') blocks.push({ kind: 'text', parts: inline(whole) })
    said = []
  }
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const fence = FENCE.exec(line)?.[1]
    const heading = HEADING.exec(line)?.[1]
    const item = ITEM.exec(line)
    if (fence !== undefined) {
      endText()
      const code: string[] = []
      while (++at < lines.length && !lines[at]?.trim().startsWith(fence)) code.push(lines[at] ?? '')
      blocks.push({ kind: 'code', text: code.join('\n') })
    } else if (heading !== undefined) {
      endText()
      blocks.push({ kind: 'heading', parts: inline(heading) })
    } else if (item !== null) {
      endText()
      const ordered = item[1] !== undefined
      const items: Inline[][] = []
      for (; at < lines.length; at++) {
        const next = ITEM.exec(lines[at] ?? '')
        if (next === null || (next[1] !== undefined) !== ordered) break
        items.push(inline(next[2] ?? ''))
      }
      at--
      blocks.push({ kind: 'list', ordered, start: Number(item[1] ?? 1), items })
    } else if (line.trim() === '') endText()
    else said.push(line)
  }
  endText()
  return blocks
}

function inline(text: string): Inline[] {
  const parts: Inline[] = []
  let from = 0
  for (const { index, 0: all, 1: code, 2: strong, 3: em } of text.matchAll(INLINE)) {
    if (index > from) parts.push({ as: 'text', text: text.slice(from, index) })
    if (code !== undefined) parts.push({ as: 'code', text: code })
    else if (strong !== undefined) parts.push({ as: 'strong', text: strong })
    else parts.push({ as: 'em', text: em ?? '' })
    from = index + all.length
  }
  if (from < text.length) parts.push({ as: 'text', text: text.slice(from) })
  return parts
}

/** The text of Markdown without its marks. */
export const plainText = (text: string): string => markdown(text).map(plainBlock).join('\n')

function plainBlock(block: Block): string {
  if (block.kind === 'code') return block.text
  const lines = block.kind === 'list' ? block.items : [block.parts]
  return lines.map((parts) => parts.map(({ text }) => text).join('')).join('\n')
}
