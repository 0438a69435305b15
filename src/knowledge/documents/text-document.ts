import { cleanText } from './clean-text.ts'
import { codeBlocks } from './code-blocks.ts'
import type { Block, ReadDocument } from './document.ts'
import { markdownBlocks } from './markdown-blocks.ts'
import { textBlocks } from './text-blocks.ts'
import { titleOf } from './title-of.ts'

export type TextFormat = 'text' | 'markdown' | 'code'

const BLOCKS: Readonly<Record<TextFormat, (text: string) => Block[]>> = {
  text: (text) => textBlocks(text),
  markdown: markdownBlocks,
  code: codeBlocks,
}

/** A document that is text already: by default Markdown, as which plain text can be read too. */
export function textDocument(content: string, name: string, format: TextFormat = 'markdown'): ReadDocument {
  const text = cleanText(content)
  const blocks = BLOCKS[format](text)
  return { format, title: titleOf(name, text, blocks), text, blocks, warnings: [] }
}
