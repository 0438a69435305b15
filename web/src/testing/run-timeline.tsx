import { useEffect, useState } from 'react'
import { count, inMoney, inNumber, inTime } from '../parts/figures.ts'
import { BreakableName } from '../parts/section.tsx'
import type { RunTurn } from './run-state.ts'

interface RunTimelineProps {
  readonly turns: readonly RunTurn[]
  readonly running: boolean
  /** The total duration, which includes time between steps; absent while running. */
  readonly durationMs?: number | undefined
}

/** A row of the timeline. */
interface Step {
  readonly id: string
  readonly title: string
  readonly kind: 'model' | 'tool'
  readonly startedAt: number
  /** Absent while running. */
  readonly durationMs?: number
  readonly failed: boolean
  readonly tokens?: number
  readonly cost?: number
}

const TICK_MS = 250

/** Start, duration and cost of each step. */
export function RunTimeline({ turns, running, durationMs }: RunTimelineProps) {
  const now = useNow(running)
  const steps = turns.flatMap(stepsOf)
  const [first] = steps
  if (first === undefined) return null
  const begin = Math.min(...steps.map(({ startedAt }) => startedAt))
  const endOf = ({ startedAt, durationMs }: Step) =>
    startedAt + (durationMs ?? Math.max(0, (now ?? startedAt) - startedAt))
  const span = Math.max(1, Math.max(...steps.map(endOf)) - begin)
  const tokens = steps.some((step) => step.tokens !== undefined)
  const cost = steps.some((step) => step.cost !== undefined)
  return (
    <table className="w-full text-left text-sm">
      <caption className="sr-only">Timeline: start and duration of each step</caption>
      <thead className="text-xs text-muted">
        <tr>
          <th scope="col" className="py-1 pr-3 font-medium">
            Step
          </th>
          <th scope="col" className="w-1/2 py-1 font-medium max-sm:hidden">
            When
          </th>
          <th scope="col" className="py-1 pl-3 text-right font-medium">
            Time
          </th>
          {tokens && (
            <th scope="col" className="py-1 pl-3 text-right font-medium">
              Tokens
            </th>
          )}
          {cost && (
            <th scope="col" className="py-1 pl-3 text-right font-medium">
              Cost
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {steps.map((step) => (
          <tr key={step.id} className="border-t border-line">
            <th
              scope="row"
              className={`max-w-40 py-1 pr-3 ${step.kind === 'model' ? 'font-medium' : 'pl-3 font-mono text-xs font-normal'}`}
            >
              <BreakableName name={step.title} />
            </th>
            <td className="py-1 max-sm:hidden">
              <span className="sr-only">after {inTime(step.startedAt - begin)}</span>
              <div aria-hidden="true" className="relative h-3 rounded-sm bg-sunk">
                <div
                  className={`absolute inset-y-0 min-w-0.5 rounded-sm ${colourOf(step)}`}
                  style={{
                    left: `${((step.startedAt - begin) / span) * 99}%`,
                    width: `${((endOf(step) - step.startedAt) / span) * 99}%`,
                  }}
                />
              </div>
            </td>
            <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">
              {step.durationMs !== undefined ? inTime(step.durationMs) : running && '…'}
            </td>
            {tokens && (
              <td className="py-1 pl-3 text-right tabular-nums">
                {step.tokens !== undefined && inNumber(step.tokens)}
              </td>
            )}
            {cost && (
              <td className="py-1 pl-3 text-right tabular-nums">{step.cost !== undefined && inMoney(step.cost)}</td>
            )}
          </tr>
        ))}
      </tbody>
      {!running && (
        <tfoot>
          <tr className="border-t border-edge font-medium">
            <th scope="row" className="py-1 pr-3 font-medium">
              Total{' '}
            </th>
            <td className="py-1 text-xs font-normal text-muted max-sm:hidden">{inWords(steps)}</td>
            <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">{inTime(durationMs ?? span)}</td>
            {tokens && (
              <td className="py-1 pl-3 text-right tabular-nums">{inNumber(sum(steps, (step) => step.tokens))}</td>
            )}
            {cost && <td className="py-1 pl-3 text-right tabular-nums">{inMoney(sum(steps, (step) => step.cost))}</td>}
          </tr>
        </tfoot>
      )}
    </table>
  )
}

const sum = (steps: readonly Step[], of: (step: Step) => number | undefined): number =>
  steps.reduce((all, step) => all + (of(step) ?? 0), 0)

const inWords = (steps: readonly Step[]): string => {
  const calls = steps.filter(({ kind }) => kind === 'tool').length
  return `${count(steps.length - calls, 'model turn')}, ${count(calls, 'call')}`
}

function colourOf({ kind, failed, durationMs }: Step): string {
  const moving = durationMs === undefined ? 'moving ' : ''
  return moving + (failed ? 'bg-bad' : kind === 'model' ? 'bg-accent' : 'bg-good')
}

function stepsOf(turn: RunTurn, index: number): Step[] {
  const { startedAt, durationMs, calls, tokens, cost } = turn
  const own: Step = {
    id: `turn-${index}`,
    title: `Turn ${index + 1}`,
    kind: 'model',
    startedAt,
    failed: false,
    ...(durationMs !== undefined && { durationMs }),
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && { cost }),
  }
  const made = calls.flatMap((call): Step[] => {
    if (call.startedAt === undefined) return []
    const { id, tool, result, startedAt: begun } = call
    const over = result && { durationMs: result.execution_time_ms }
    return [
      { id: `call-${id}`, title: tool, kind: 'tool', startedAt: begun, failed: result?.success === false, ...over },
    ]
  })
  return [own, ...made]
}

/** The current time, updated while the run is live. */
function useNow(running: boolean): number | undefined {
  const [now, setNow] = useState<number>()
  useEffect(() => {
    if (!running) return
    const timer = setInterval(() => setNow(performance.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [running])
  return now
}
