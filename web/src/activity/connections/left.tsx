import { inNumber, inTime } from '../../parts/figures.ts'

interface LeftProps {
  readonly label: string
  readonly calls: number
  readonly perMs: number
  readonly remaining: number
}

/** The remainder of a limit, as a number and a bar. */
export const Left = ({ label, calls, perMs, remaining }: LeftProps) => (
  <span className="inline-flex items-center gap-2">
    <meter
      aria-label={label}
      min={0}
      max={calls}
      low={calls * 0.1}
      optimum={calls}
      value={remaining}
      className="h-2.5 w-24"
    />
    <span className="tabular-nums">
      {inNumber(remaining)} of {inNumber(calls)} left per {inTime(perMs)}
    </span>
  </span>
)
