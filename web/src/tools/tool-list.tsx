import { Link } from 'wouter'
import type { PageTool } from '../../../src/server/http/views.ts'
import { useCompact } from '../parts/density.tsx'
import { count, inSuccess, inTime, successRate } from '../parts/figures.ts'
import { KeyIcon } from '../parts/icons.tsx'
import { BreakableName } from '../parts/section.tsx'
import { excerpt } from '../parts/shortened.ts'
import { Chip } from '../parts/states.tsx'
import { useMedia } from '../parts/use-media.ts'
import { WindowList } from '../parts/virtual-list.tsx'
import { EffectChip } from './effect-chip.tsx'
import type { ToolFigures } from './search-tools.ts'

const ROW_PX = 34
/** 50 rows fit on 1,080 lines. */
const COMPACT_PX = 18
const NARROW_PX = 92
const MOST_DESCRIPTION = 240
const COLUMNS =
  'md:grid-cols-[minmax(0,1fr)_5.5rem_6.5rem_8.5rem_8rem_4.5rem] 2xl:grid-cols-[minmax(0,1fr)_8rem_8rem_12rem_10rem_6rem]'

interface ToolListProps {
  readonly tools: readonly PageTool[]
  /** Undefined if the key may not view metrics. */
  readonly figures: ToolFigures | undefined
}

/** The tools with their metrics. */
export const ToolList = ({ tools, figures }: ToolListProps) => {
  const compact = useCompact()
  const wide = useMedia('(min-width: 48rem)')
  return (
    <>
      <div
        aria-hidden="true"
        className={`hidden gap-3 px-4 py-1.5 compact:py-0.5 text-xs font-medium text-muted md:grid ${COLUMNS}`}
      >
        <span>Tool</span>
        <span>Kind</span>
        <span>Effect</span>
        <span>Origin</span>
        <span className="text-right">{figures && 'Success, 24 h'}</span>
        <span className="text-right">{figures && 'p95'}</span>
      </div>
      <WindowList
        items={tools}
        keyOf={({ name }) => name}
        key={`${compact} ${wide}`}
        rowPx={!wide ? NARROW_PX : compact ? COMPACT_PX : ROW_PX}
        label="Tools"
        className="panel"
        rowClassName="border-line not-first:border-t"
        row={(tool) => <Row tool={tool} figures={figures?.[tool.name]} observed={figures !== undefined} />}
      />
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
    className={`grid scroll-mt-36 scroll-mb-16 lg:scroll-mt-20 items-center gap-x-3 gap-y-1.5 px-4 py-3 hover:bg-sunk md:h-[33px] md:py-0 md:compact:h-[17px] md:compact:text-xs ${COLUMNS}`}
  >
    <span className="min-w-0 md:flex md:items-baseline md:gap-3">
      <span className="flex flex-wrap items-center gap-x-2 md:max-w-[60%] md:shrink-0 md:flex-nowrap">
        <span className="font-mono text-[0.875rem] font-medium md:truncate md:compact:text-xs">
          <BreakableName name={tool.name} />
        </span>
        {tool.broken !== undefined && <Chip tone="bad">broken</Chip>}
        {tool.permissions.length > 0 && (
          <span className="flex min-w-0 items-center gap-1 text-xs text-muted max-md:hidden">
            <span className="sr-only">Needs the permission </span>
            <KeyIcon />
            <BreakableName name={tool.permissions.join(', ')} />
          </span>
        )}
      </span>
      <span className="mt-0.5 block text-sm wrap-anywhere text-muted md:mt-0 md:min-w-0 md:flex-1 md:truncate md:compact:text-xs">
        {excerpt(tool.description, MOST_DESCRIPTION)}
      </span>
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
      <span className="truncate text-sm text-muted md:compact:text-xs">
        <span className="sr-only">Origin: </span>
        {tool.origin}
      </span>
      {tool.permissions.length > 0 && (
        <span className="flex items-center gap-1 text-xs text-muted md:hidden">
          <span className="sr-only">Needs the permission </span>
          <KeyIcon />
          {tool.permissions.join(', ')}
        </span>
      )}
      <span className="text-right text-sm whitespace-nowrap tabular-nums md:compact:text-xs">
        {figures === undefined ? (
          <span className="text-muted max-md:hidden">{observed ? '–' : ''}</span>
        ) : (
          <>
            <span className="sr-only">Success in 24 hours: </span>
            <span className={(successRate(figures) ?? 1) < 0.9 ? 'font-medium text-bad' : ''}>
              {inSuccess(figures)}
            </span>
            <span className="ml-1.5 text-xs text-muted">{count(figures.total, 'call')}</span>
          </>
        )}
      </span>
      <span className="text-right text-sm whitespace-nowrap tabular-nums md:compact:text-xs">
        {figures === undefined ? (
          <span className="text-muted max-md:hidden">{observed ? '–' : ''}</span>
        ) : (
          <>
            <span className="sr-only">p95 latency: </span>
            <span aria-hidden="true" className="text-muted md:hidden">
              p95{' '}
            </span>
            {inTime(figures.p95_ms)}
          </>
        )}
      </span>
    </span>
  </Link>
)
