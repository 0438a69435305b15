import { useMemo } from 'react'
import { type Inline, markdown } from './markdown.ts'
import { Code } from './section.tsx'

/** The answer of a model, with its Markdown. It never contains HTML, links or images. */
export function MarkdownView({ text }: { readonly text: string }) {
  const blocks = useMemo(() => markdown(text), [text])
  return (
    <div className="grid max-w-[80ch] grid-cols-1 gap-2 wrap-anywhere">
      {blocks.map((block, index) => {
        const key = `${index}`
        if (block.kind === 'code') {
          return (
            <pre key={key} className="rounded-lg border border-line bg-sunk p-2 font-mono text-sm whitespace-pre-wrap">
              {block.text}
            </pre>
          )
        }
        if (block.kind === 'list') {
          const List = block.ordered ? 'ol' : 'ul'
          return (
            <List
              key={key}
              className={`pl-6 ${block.ordered ? 'list-decimal' : 'list-disc'}`}
              {...(block.ordered && { start: block.start })}
            >
              {block.items.map((item, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: items may repeat, and never move.
                <li key={place}>
                  <Parts parts={item} />
                </li>
              ))}
            </List>
          )
        }
        return (
          <p key={key} className={block.kind === 'heading' ? 'font-semibold' : 'whitespace-pre-wrap'}>
            <Parts parts={block.parts} />
          </p>
        )
      })}
    </div>
  )
}

const Parts = ({ parts }: { readonly parts: readonly Inline[] }) =>
  parts.map(({ as, text }, index) => {
    const key = `${index}`
    if (as === 'text') return text
    if (as === 'code') return <Code key={key}>{text}</Code>
    const Tag = as
    return <Tag key={key}>{text}</Tag>
  })
