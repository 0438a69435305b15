import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { count, inNumber, inPercent } from '../../parts/figures.ts'
import { ChartFrame } from './chart-frame.tsx'
import { ChartTooltip } from './chart-tooltip.tsx'

const TICK = { fill: 'var(--muted)', fontSize: '0.75rem' }
const ROW_PX = 34
const AXIS_PX = 34

interface ErrorRow {
  readonly kind: string
  readonly calls: number
}

const readable = (code: string): string => code.toLowerCase().replaceAll('_', ' ')

interface ErrorChartProps {
  readonly errors: Readonly<Record<string, number>>
  readonly total: number
}

/** Failed calls by error code. Calls that ask for approval haven't failed. */
export function ErrorChart({ errors, total }: ErrorChartProps) {
  const { APPROVAL_REQUIRED: asked = 0, ...failures } = errors
  const rows: ErrorRow[] = Object.entries(failures)
    .map(([code, calls]) => ({ kind: readable(code), calls }))
    .sort((one, other) => other.calls - one.calls)
  const failed = rows.reduce((sum, { calls }) => sum + calls, 0)
  const columns = [
    { label: 'Error', text: ({ kind }: ErrorRow) => kind },
    { label: 'Calls', text: ({ calls }: ErrorRow) => inNumber(calls) },
    { label: 'Of ended calls', text: ({ calls }: ErrorRow) => inPercent(calls / (total - asked)) },
  ]
  if (rows.length === 0) {
    return (
      <section className="panel p-4">
        <h3 className="font-semibold">Errors by code</h3>
        <p className="text-sm text-muted">No call failed.</p>
      </section>
    )
  }
  return (
    <ChartFrame
      title="Errors by code"
      note={`${count(failed, 'call')} failed in this period`}
      rows={rows}
      columns={columns}
    >
      <div className="mt-2" style={{ height: rows.length * ROW_PX + AXIS_PX }}>
        <ResponsiveContainer width="100%" height="100%">
          <BarChart
            data={rows}
            layout="vertical"
            margin={{ top: 0, right: 12, bottom: 0, left: 0 }}
            aria-label="Errors by code. Use the arrow keys to move; a table with the same data follows."
          >
            <CartesianGrid horizontal={false} stroke="var(--line)" />
            <XAxis type="number" tick={TICK} stroke="var(--edge)" tickLine={false} allowDecimals={false} />
            <YAxis
              type="category"
              dataKey="kind"
              tick={TICK}
              stroke="var(--edge)"
              tickLine={false}
              width={132}
              interval={0}
            />
            <Tooltip
              cursor={{ fill: 'var(--sunk)' }}
              isAnimationActive={false}
              content={({ active, label, payload }) => (
                <ChartTooltip active={active} title={String(label ?? '')} payload={payload} format={inNumber} />
              )}
            />
            <Bar dataKey="calls" name="Calls" fill="var(--bad)" barSize={16} isAnimationActive={false} />
          </BarChart>
        </ResponsiveContainer>
      </div>
    </ChartFrame>
  )
}
