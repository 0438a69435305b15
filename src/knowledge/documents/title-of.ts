import { posix } from 'node:path'
import type { Block } from './document.ts'
import { shortened } from './heading-path.ts'
import { frontMatterEnd } from './markdown-lines.ts'

/** What a document is called: as it says itself, by its first heading, else by its file name. */
export function titleOf(name: string, text: string, blocks: readonly Block[], said = ''): string {
  const own =
    said.trim() || frontMatterTitle(text, blocks) || blocks.find(({ kind }) => kind === 'heading')?.path.at(-1)
  return shortened(own || posix.basename(name))
}

/** The `title` among the settings at the head of a Markdown document. */
function frontMatterTitle(text: string, [first]: readonly Block[]): string | undefined {
  if (first === undefined || frontMatterEnd(text) !== first.end) return undefined
  const title = /^title:[ \t]*(\S.*)$/m.exec(text.slice(first.start, first.end))?.[1]?.trim()
  return title?.replace(/^(["'])(.*)\1$/, '$2')
}
