import type { UseQueryResult } from '@tanstack/react-query'
import type { SuiteEstimate } from '../../../../src/server/http/views.ts'
import { count, inMoney, inNumber } from '../../parts/figures.ts'
import { Note } from '../../parts/states.tsx'

interface EstimateProps {
  /** Whether models and suites are selected. */
  readonly ready: boolean
  readonly estimate: UseQueryResult<SuiteEstimate>
  readonly fresh?: boolean
  /** Undefined if the run can't start over. */
  readonly onFresh?: (fresh: boolean) => void
}

/** The estimated cost of a run, and its limit. */
export function Estimate({ ready, estimate, fresh = false, onFresh }: EstimateProps) {
  const { data, error } = estimate
  if (!ready) return <p className="text-sm text-muted">Choose at least one model and one suite.</p>
  if (error) {
    return (
      <Note tone="bad" role="alert">
        <span className="whitespace-pre-line">{error.message}</span>
      </Note>
    )
  }
  if (data === undefined) return <p className="moving text-sm text-muted">Estimating the cost …</p>
  const { trials, made_before, unpriced, most } = data
  return (
    <div className="text-sm">
      <p role="status" className="tabular-nums">
        <span className="font-medium">{count(trials - made_before, 'trial')}</span>: {costOf(data)}
      </p>
      {unpriced.length > 0 && (
        <p className="mt-1 text-warn">
          The price of {unpriced.join(', ')} is unknown: set <code className="font-mono">models[].prices</code> in the
          configuration. The limit is {inNumber(most.tokens ?? 0)} tokens.
        </p>
      )}
      {(made_before > 0 || fresh) && onFresh !== undefined && (
        <label className="mt-1 flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-(--accent)"
            checked={fresh}
            onChange={({ target }) => onFresh(target.checked)}
          />
          {fresh
            ? 'Start over: run all trials again.'
            : `Start over instead of reusing ${inNumber(made_before)} of ${inNumber(trials)} trials.`}
        </label>
      )}
    </div>
  )
}

function costOf({ tokens, cost, free, most }: SuiteEstimate): string {
  const used = `about ${inNumber(tokens)} tokens`
  if (free) return `${used}, free of charge.`
  if (cost === null) return `${used}.`
  const enough = cost > most.cost ? ' The budget is probably too low for all trials.' : ''
  return `${used} and ${inMoney(cost)}; the limit is ${inMoney(most.cost)}.${enough}`
}
