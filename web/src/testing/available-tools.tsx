import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { Link } from 'wouter'
import type { PageTool } from '../../../src/server/page/page-tool.ts'
import { toolsQuery } from '../api/queries.ts'
import { Chip, Empty, Failed, Loading } from '../parts/states.tsx'
import { EffectChip } from '../tools/effect-chip.tsx'

/** What a model under test may call. */
export function AvailableTools() {
  const { data: tools, error, refetch } = useQuery(toolsQuery)
  return (
    <section aria-labelledby="available" className="panel min-w-0">
      <h2 id="available" className="px-4 pt-4 text-lg font-semibold">
        Available Tools {tools !== undefined && <span className="font-normal text-muted">({tools.length})</span>}
      </h2>
      <div className="p-2">
        {tools === undefined && !error && <Loading what="the tools" />}
        {tools === undefined && error && <Failed error={error} what="the tools" again={() => void refetch()} />}
        {tools?.length === 0 && <Empty title="There are no tools">A model under test can only answer by itself.</Empty>}
        {tools !== undefined && tools.length > 0 && <Rows tools={tools} />}
      </div>
    </section>
  )
}

function Rows({ tools }: { readonly tools: readonly PageTool[] }) {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: tools.length,
    getScrollElement: () => box.current,
    estimateSize: () => 68,
    overscan: 5,
    getItemKey: (index) => tools[index]?.name ?? index,
  })
  return (
    <section
      ref={box}
      className="max-h-[26rem] overflow-y-auto lg:max-h-[34rem]"
      tabIndex={0}
      aria-label="List of tools"
    >
      <ul className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const tool = tools[index] as PageTool
          return (
            <li
              key={key}
              ref={rows.measureElement}
              data-index={index}
              aria-setsize={tools.length}
              aria-posinset={index + 1}
              className="absolute inset-x-0 top-0 rounded-lg px-2 py-2"
              style={{ transform: `translateY(${start}px)` }}
            >
              <div className="flex items-center gap-2">
                <Link
                  href={`/tool/${encodeURIComponent(tool.name)}`}
                  className="truncate font-mono text-sm font-medium underline-offset-2 hover:underline"
                >
                  {tool.name}
                </Link>
                <Chip>{tool.kind}</Chip>
                {tool.effect === 'write' && <EffectChip tool={tool} />}
              </div>
              <p className="mt-0.5 line-clamp-2 text-sm text-muted">{tool.description}</p>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
