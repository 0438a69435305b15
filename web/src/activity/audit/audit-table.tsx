import { createColumnHelper, rowExpandingFeature, tableFeatures, useTable } from '@tanstack/react-table'
import { Fragment } from 'react'
import type { AuditRow } from '../../../../src/core/storage/audit.ts'
import { inDate, inTime } from '../../parts/figures.ts'
import { ChevronIcon } from '../../parts/icons.tsx'
import { OutcomeChip } from '../../parts/outcome-chip.tsx'
import { AuditDetails } from './audit-details.tsx'

const features = tableFeatures({ rowExpandingFeature })
const helper = createColumnHelper<typeof features, AuditRow>()

/** On narrow screens only the first two are shown, with what matters most of the others in them. */
const COLUMNS = helper.columns([
  helper.accessor('tool', {
    header: 'Tool',
    cell: ({ row }) => (
      <>
        <button
          type="button"
          aria-expanded={row.getIsExpanded()}
          onClick={() => row.toggleExpanded()}
          className="group flex w-full items-start gap-1 text-left font-mono font-medium"
        >
          <span className="shrink-0 text-muted group-aria-[expanded=false]:-rotate-90">
            <ChevronIcon />
          </span>
          <span className="min-w-0 break-words">{row.original.tool}</span>
        </button>
        <time dateTime={row.original.time} className="block pl-5.5 text-xs text-muted md:hidden">
          {inDate(row.original.time)}
        </time>
      </>
    ),
  }),
  helper.accessor('outcome', {
    header: 'Outcome',
    cell: ({ row }) => (
      <>
        <OutcomeChip {...row.original} />
        <span className="mt-0.5 block text-xs text-muted tabular-nums md:hidden">
          {inTime(row.original.duration_ms)}
        </span>
      </>
    ),
  }),
  helper.accessor('time', {
    header: 'Time',
    cell: ({ row }) => <time dateTime={row.original.time}>{inDate(row.original.time)}</time>,
  }),
  helper.accessor('duration_ms', { header: 'Took', cell: ({ row }) => inTime(row.original.duration_ms) }),
  helper.accessor('source', { header: 'Through' }),
  helper.accessor('caller', { header: 'Caller' }),
])
const WITH_TENANT = helper.columns([...COLUMNS, helper.accessor('tenant', { header: 'Tenant' })])

/** How each column looks; all but the first two are for wider screens. */
const LOOKS: Readonly<Record<string, string>> = {
  tool: 'pl-3',
  outcome: 'w-40 md:w-48',
  time: 'w-52 max-md:hidden',
  duration_ms: 'w-24 tabular-nums max-md:hidden',
  source: 'w-24 max-md:hidden',
  caller: 'w-36 max-lg:hidden truncate',
  tenant: 'w-28 max-lg:hidden truncate',
}

interface AuditTableProps {
  readonly rows: readonly AuditRow[]
  /** Whether they may be of several tenants. */
  readonly tenants: boolean
}

/** The rows, each of which opens. */
export function AuditTable({ rows, tenants }: AuditTableProps) {
  const columns = tenants ? WITH_TENANT : COLUMNS
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
        <caption className="sr-only">Calls, the newest first</caption>
        <thead className="text-xs text-muted">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th key={header.id} scope="col" className={`px-2 py-2 font-medium ${LOOKS[header.column.id]}`}>
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
                  <td key={cell.id} className={`px-2 py-2 ${LOOKS[cell.column.id]}`}>
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
