import { Link } from 'wouter'
import type { PageTool } from '../../../src/server/http/views.ts'
import { count, inPercent, inTime } from '../parts/figures.ts'
import { KeyIcon } from '../parts/icons.tsx'
import { BreakableName } from '../parts/section.tsx'
import { excerpt } from '../parts/shortened.ts'
import { Chip } from '../parts/states.tsx'
import { WindowList } from '../parts/virtual-list.tsx'
import { EffectChip } from './effect-chip.tsx'
import type { ToolFigures } from './search-tools.ts'

const ROW_PX = 68
const MOST_DESCRIPTION = 120
const COLUMNS = 'md:grid-cols-[minmax(0,1fr)_5.5rem_6.5rem_8.5rem_6rem_5rem]'

interface ToolListProps {
  readonly tools: readonly PageTool[]
  /** Undefined if the key may not view metrics. */
  readonly figures: ToolFigures | undefined
}

/** The tools with their metrics. */
export const ToolList = ({ tools, figures }: ToolListProps) => (
  <>
    <div aria-hidden="true" className={`hidden gap-3 px-4 py-2 text-xs font-medium text-muted md:grid ${COLUMNS}`}>
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
      rowPx={ROW_PX}
      label="Tools"
      className="panel"
      rowClassName="border-line not-first:border-t"
      row={(tool) => <Row tool={tool} figures={figures?.[tool.name]} observed={figures !== undefined} />}
    />
  </>
)

interface RowProps {
  readonly tool: PageTool
  readonly figures: ToolFigures[string] | undefined
  readonly observed: boolean
}

const Row = ({ tool, figures, observed }: RowProps) => (
  <Link
    href={`/tool/${encodeURIComponent(tool.name)}`}
    className={`grid scroll-mt-36 scroll-mb-16 items-center gap-x-3 gap-y-1.5 px-4 py-3 hover:bg-sunk ${COLUMNS}`}
  >
    <span className="min-w-0">
      <span className="flex flex-wrap items-center gap-x-2">
        <span className="font-mono text-[0.875rem] font-medium">
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
      <span className="mt-0.5 block text-sm wrap-anywhere text-muted">
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
      <span className="truncate text-sm text-muted">
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
