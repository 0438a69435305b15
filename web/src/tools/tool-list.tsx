import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { PageTool } from '../../../src/server/page/page-tool.ts'
import { count, inPercent, inTime } from '../parts/figures.ts'
import { Chip } from '../parts/states.tsx'
import { EffectChip } from './effect-chip.tsx'
import type { ToolFigures } from './search-tools.ts'

const ROW_PX = 76
const COLUMNS = 'md:grid-cols-[minmax(0,1fr)_5.5rem_6.5rem_8.5rem_5.5rem_5.5rem]'

interface ToolListProps {
  readonly tools: readonly PageTool[]
  /** Undefined where who sits here may not see them. */
  readonly figures: ToolFigures | undefined
}

/** However many tools there are, only those in sight are drawn. */
export function ToolList({ tools, figures }: ToolListProps) {
  const list = useRef<HTMLUListElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), [])
  const rows = useWindowVirtualizer({
    count: tools.length,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollMargin: top,
    getItemKey: (index) => tools[index]?.name ?? index,
  })
  return (
    <>
      <div aria-hidden="true" className={`hidden gap-3 px-4 py-2 text-xs font-medium text-muted md:grid ${COLUMNS}`}>
        <span>Tool</span>
        <span>Kind</span>
        <span>Effect</span>
        <span>Origin</span>
        <span className="text-right">Success</span>
        <span className="text-right">p95</span>
      </div>
      <ul ref={list} aria-label="Tools" className="panel relative" style={{ height: rows.getTotalSize() + 2 }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const tool = tools[index] as PageTool
          return (
            <li
              key={key}
              ref={rows.measureElement}
              data-index={index}
              aria-setsize={tools.length}
              aria-posinset={index + 1}
              className={`absolute inset-x-0 top-0 border-line ${index > 0 ? 'border-t' : ''}`}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              <Row tool={tool} figures={figures?.[tool.name]} observed={figures !== undefined} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

interface RowProps {
  readonly tool: PageTool
  readonly figures: ToolFigures[string] | undefined
  readonly observed: boolean
}

const Row = ({ tool, figures, observed }: RowProps) => (
  <Link
    href={`/tool/${encodeURIComponent(tool.name)}`}
    className={`grid items-center gap-x-3 gap-y-1.5 px-4 py-3 hover:bg-sunk ${COLUMNS}`}
  >
    <span className="min-w-0">
      <span className="flex items-center gap-2">
        <span className="truncate font-mono text-[0.875rem] font-medium">{tool.name}</span>
        {tool.broken !== undefined && <Chip tone="bad">broken</Chip>}
        {tool.permissions.length > 0 && (
          <span className="truncate text-xs text-muted max-md:hidden">
            <span className="sr-only">Needs the permission </span>
            <span aria-hidden="true">🔑 </span>
            {tool.permissions.join(', ')}
          </span>
        )}
      </span>
      <span className="mt-0.5 line-clamp-1 text-sm text-muted max-md:line-clamp-2">{tool.description}</span>
    </span>
    <span className="flex flex-wrap items-center gap-1.5 md:contents">
      <span>
        <span className="sr-only">Kind: </span>
        <Chip>{tool.kind}</Chip>
      </span>
      <span>
        <span className="sr-only">Effect: </span>
        <EffectChip tool={tool} />
      </span>
      <span className="truncate text-sm text-muted">
        <span className="sr-only">Origin: </span>
        {tool.origin}
      </span>
      {tool.permissions.length > 0 && (
        <span className="text-xs text-muted md:hidden" aria-hidden="true">
          🔑 {tool.permissions.join(', ')}
        </span>
      )}
      <span className="text-right text-sm tabular-nums">
        {figures === undefined ? (
          <span className="text-muted max-md:hidden">{observed ? '–' : ''}</span>
        ) : (
          <>
            <span className="sr-only">Success in 24 hours: </span>
            <span className={figures.success_rate < 0.9 ? 'font-medium text-bad' : ''}>
              {inPercent(figures.success_rate)}
            </span>
            <span className="block text-xs text-muted max-md:ml-1 max-md:inline">{count(figures.total, 'call')}</span>
          </>
        )}
      </span>
      <span className="text-right text-sm tabular-nums">
        {figures !== undefined && (
          <>
            <span className="sr-only">95 of 100 calls took at most </span>
            {inTime(figures.p95_ms)}
          </>
        )}
      </span>
    </span>
  </Link>
)
