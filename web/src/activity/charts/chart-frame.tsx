import { type ReactNode, useId, useState } from 'react'

/** A table column with its title and cell content. */
export interface Column<Row> {
  readonly label: string
  readonly text: (row: Row) => string
}

interface ChartFrameProps<Row> {
  readonly title: string
  readonly note: string
  readonly rows: readonly Row[]
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[]
  readonly children: ReactNode
}

/** A chart with a title, and the same data as a table. */
export function ChartFrame<Row>({ title, note, rows, columns, children }: ChartFrameProps<Row>) {
  const id = useId()
  const [open, setOpen] = useState(false)
  return (
    <figure aria-labelledby={id} className="panel min-w-0 p-4">
      <figcaption>
        <h3 id={id} className="font-semibold">
          {title}
        </h3>
        <p className="text-sm text-muted">{note}</p>
      </figcaption>
      {children}
      <details className="mt-2" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="w-fit text-sm text-muted hover:text-ink">Show as table</summary>
        {open && <FigureTable label={`${title}, as a table`} rows={rows} columns={columns} />}
      </details>
    </figure>
  )
}

interface FigureTableProps<Row> extends Pick<ChartFrameProps<Row>, 'rows' | 'columns'> {
  readonly label: string
}

const FigureTable = <Row,>({ label, rows, columns }: FigureTableProps<Row>) => (
  <section aria-label={label} className="mt-2 max-h-72 overflow-auto" tabIndex={0}>
    <table className="w-full text-left text-sm tabular-nums">
      <thead className="text-xs text-muted">
        <tr>
          {columns.map(({ label }) => (
            <th key={label} scope="col" className="py-1 pr-3 font-medium">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have a fixed place.
          <tr key={index} className="border-t border-line whitespace-nowrap">
            {columns.map(({ label, text }, place) =>
              place === 0 ? (
                <th key={label} scope="row" className="py-1 pr-3 font-normal">
                  {text(row)}
                </th>
              ) : (
                <td key={label} className="py-1 pr-3">
                  {text(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
