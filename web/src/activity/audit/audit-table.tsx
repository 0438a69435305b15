import { createColumnHelper, rowExpandingFeature, tableFeatures, useTable } from '@tanstack/react-table'
import { Fragment } from 'react'
import type { ShownRow } from '../../../../src/server/http/views.ts'
import { inDate, inTime } from '../../parts/figures.ts'
import { ChevronIcon } from '../../parts/icons.tsx'
import { OutcomeChip } from '../../parts/outcome-chip.tsx'
import { useMedia } from '../../parts/use-media.ts'
import { AuditDetails } from './audit-details.tsx'

const features = tableFeatures({ rowExpandingFeature })
const helper = createColumnHelper<typeof features, ShownRow>()

/** How long a call took, or how many times an event happened. */
const extent = ({ event, duration_ms, attempts }: ShownRow): string =>
  event === null ? inTime(duration_ms) : attempts === 1 ? '' : `${attempts} times`

const time = ({ time }: ShownRow) => <time dateTime={time}>{inDate(time)}</time>

/** Two columns for narrow windows, which include the most important other fields. */
const NARROW = helper.columns([
  helper.accessor('tool', {
    header: 'Tool or event, and time',
    cell: ({ row }) => (
      <>
        <OpenRow row={row} />
        <div className="pl-5.5 text-xs text-muted">{time(row.original)}</div>
      </>
    ),
  }),
  helper.accessor('outcome', {
    header: 'Outcome',
    cell: ({ row }) => (
      <>
        <OutcomeChip {...row.original} />
        <div className="mt-0.5 text-xs text-muted tabular-nums">{extent(row.original)}</div>
      </>
    ),
  }),
])

const MIDDLE = helper.columns([
  helper.accessor('tool', { header: 'Tool or event', cell: ({ row }) => <OpenRow row={row} /> }),
  helper.accessor('outcome', { header: 'Outcome', cell: ({ row }) => <OutcomeChip {...row.original} /> }),
  helper.accessor('time', { header: 'Time', cell: ({ row }) => time(row.original) }),
  helper.accessor('duration_ms', { header: 'Took', cell: ({ row }) => extent(row.original) }),
])

const WIDE = helper.columns([
  ...MIDDLE,
  helper.accessor('source', { header: 'Through' }),
  helper.accessor('caller_name', { header: 'Caller' }),
])
const WIDE_WITH_TENANT = helper.columns([...WIDE, helper.accessor('tenant', { header: 'Tenant' })])

/** Column widths; the tool gets the rest. In wide windows all columns grow, so that a row stays easy to follow. */
const WIDTHS: Readonly<Record<string, string>> = {
  outcome: 'w-42 md:w-48 2xl:w-[15%]',
  time: 'w-52 2xl:w-[16%]',
  duration_ms: 'w-24 tabular-nums 2xl:w-[10%]',
  source: 'w-24 2xl:w-[10%]',
  caller_name: 'w-36 truncate 2xl:w-[14%]',
  tenant: 'w-28 truncate 2xl:w-[10%]',
}

interface OpenRowProps {
  readonly row: {
    readonly original: ShownRow
    getIsExpanded(): boolean
    toggleExpanded(): void
  }
}

const OpenRow = ({ row }: OpenRowProps) => (
  <button
    type="button"
    aria-expanded={row.getIsExpanded()}
    onClick={() => row.toggleExpanded()}
    className="group flex w-full items-start gap-1 text-left font-mono font-medium"
  >
    <span className="shrink-0 text-muted group-aria-[expanded=false]:-rotate-90 compact:-my-px">
      <ChevronIcon />
    </span>
    <span className="min-w-0 break-words">{row.original.event ?? row.original.tool}</span>
  </button>
)

interface AuditTableProps {
  readonly rows: readonly ShownRow[]
  /** Whether the rows may belong to several tenants. */
  readonly tenants: boolean
}

/** The rows, which can be expanded. */
export function AuditTable({ rows, tenants }: AuditTableProps) {
  const middle = useMedia('(width >= 48rem)')
  const wide = useMedia('(width >= 64rem)')
  const columns = wide ? (tenants ? WIDE_WITH_TENANT : WIDE) : middle ? MIDDLE : NARROW
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: ({ id }) => id,
    getRowCanExpand: () => true,
  })
  return (
    <div className="panel overflow-hidden">
      <table className="w-full table-fixed text-left text-sm">
        <caption className="sr-only">Audit log, newest first</caption>
        <thead className="text-xs text-muted">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th key={header.id} scope="col" className={`px-2 py-2 font-medium ${WIDTHS[header.column.id] ?? ''}`}>
                  <table.FlexRender header={header} />
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <Fragment key={row.id}>
              <tr className="border-t border-line align-top hover:bg-sunk">
                {row.getAllCells().map((cell) => (
                  <td key={cell.id} className={`px-2 py-2 ${WIDTHS[cell.column.id] ?? ''}`}>
                    <table.FlexRender cell={cell} />
                  </td>
                ))}
              </tr>
              {row.getIsExpanded() && (
                <tr className="bg-sunk">
                  <td colSpan={columns.length}>
                    <AuditDetails row={row.original} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}
