import { useId } from 'react'
import { Bar, CartesianGrid, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { ChartFrame } from './chart-frame.tsx'
import { ChartTooltip } from './chart-tooltip.tsx'
import { decades, LEAST, ticksOf } from './decades.ts'
import type { Drawn } from './drawn.ts'
import { barFill, Hatching, Swatch } from './swatch.tsx'
import { atTime, type Buckets, onAxis } from './time-labels.ts'

/** The values of one bucket; null for no value. */
export interface TimeRow {
  readonly start: string
  readonly [key: string]: string | number | null
}

interface TimeChartProps {
  readonly title: string
  readonly note: string
  readonly window: Buckets
  readonly rows: readonly TimeRow[]
  readonly drawn: readonly Drawn[]
  readonly format: (value: number) => string
  /** What is said of a bucket without a value. */
  readonly missing?: string
  /** The end of the axis; the largest value by default. */
  readonly most?: number
  readonly whole?: boolean
  /** For values of several magnitudes, such as latency. */
  readonly logarithmic?: boolean
}

/** A few points make no line: they must be seen by themselves. */
const pointSize = (rows: readonly TimeRow[], key: string): number =>
  rows.filter((row) => typeof row[key] === 'number').length <= 3 ? 4 : 2

const TICK = { fill: 'var(--muted)', fontSize: '0.75rem' }

/** Values over time, as stacked bars or lines. */
export function TimeChart(props: TimeChartProps) {
  const { title, note, window, rows, drawn, format, missing, most, whole = false, logarithmic = false } = props
  const hatching = useId()
  const columns = [
    { label: window === 'days' ? 'Day' : 'From', text: ({ start }: TimeRow) => atTime(start, window) },
    ...drawn.map(({ key, label }) => ({
      label,
      text: ({ [key]: value }: TimeRow) => (typeof value === 'number' ? format(value) : (missing ?? '–')),
    })),
  ]
  return (
    <ChartFrame title={title} note={note} rows={rows} columns={columns}>
      {drawn.length > 1 && (
        <ul aria-hidden="true" className="mt-2 flex flex-wrap gap-x-4 text-sm">
          {drawn.map((one) => (
            <li key={one.key} className="flex items-center gap-1.5">
              <Swatch {...one} />
              {one.label}
            </li>
          ))}
        </ul>
      )}
      <div className="mt-2 h-52">
        <ResponsiveContainer width="100%" height="100%">
          <ComposedChart
            data={rows as TimeRow[]}
            margin={{ top: 6, right: 6, bottom: 0, left: 0 }}
            aria-label={`${title}. Use the arrow keys to move; a table with the same data follows.`}
          >
            <Hatching id={hatching} colour="var(--bad)" />
            <CartesianGrid vertical={false} stroke="var(--line)" />
            <XAxis
              dataKey="start"
              tickFormatter={(start: string) => onAxis(start, window)}
              tick={TICK}
              stroke="var(--edge)"
              tickLine={false}
              interval="equidistantPreserveStart"
              minTickGap={28}
            />
            <YAxis
              tickFormatter={format}
              tick={TICK}
              stroke="var(--edge)"
              tickLine={false}
              axisLine={false}
              width="auto"
              allowDecimals={!whole}
              {...(logarithmic ? { scale: 'log', domain: decades(rows, drawn), allowDataOverflow: true } : {})}
              {...(logarithmic ? { ticks: ticksOf(decades(rows, drawn)) } : { domain: [0, most ?? 'auto'] })}
            />
            <Tooltip
              cursor={{ stroke: 'var(--edge)', fill: 'var(--sunk)' }}
              isAnimationActive={false}
              filterNull={false}
              content={({ active, label, payload }) => (
                <ChartTooltip
                  active={active}
                  title={label === undefined ? '' : atTime(String(label), window)}
                  payload={payload}
                  {...{ format, missing }}
                />
              )}
            />
            {drawn.map(({ key, label, colour, as, fill, dash }) =>
              as === 'bar' ? (
                <Bar
                  key={key}
                  dataKey={key}
                  name={label}
                  // In a stack, no value is drawn as 0.
                  {...(drawn.length > 1 && { stackId: 'all' })}
                  maxBarSize={48}
                  fill={barFill({ colour, fill }, hatching)}
                  stroke={fill && colour}
                  isAnimationActive={false}
                />
              ) : (
                <Line
                  key={key}
                  dataKey={
                    logarithmic
                      ? ({ [key]: value }: TimeRow) => (value === null ? null : Math.max(LEAST, Number(value)))
                      : key
                  }
                  name={label}
                  stroke={colour}
                  strokeWidth={2}
                  dot={{ r: pointSize(rows, key), fill: colour, strokeDasharray: 'none' }}
                  activeDot={{ r: 4 }}
                  isAnimationActive={false}
                  {...(dash !== undefined && { strokeDasharray: dash })}
                />
              ),
            )}
          </ComposedChart>
        </ResponsiveContainer>
      </div>
    </ChartFrame>
  )
}
