import type { UseQueryResult } from '@tanstack/react-query'
import type { SuiteEstimate } from '../../../../src/server/http/views.ts'
import { count, inMoney, inNumber } from '../../parts/figures.ts'
import { Note } from '../../parts/states.tsx'

interface EstimateProps {
  /** Whether enough was chosen to make one. */
  readonly ready: boolean
  readonly estimate: UseQueryResult<SuiteEstimate>
  readonly fresh?: boolean
  /** Where it may be started over. */
  readonly onFresh?: (fresh: boolean) => void
}

/** About what a run will use up, and what it may use up at most. */
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
  if (data === undefined) return <p className="moving text-sm text-muted">Working out what it will cost …</p>
  const { trials, made_before, unpriced, most } = data
  return (
    <div className="text-sm">
      <p role="status" className="tabular-nums">
        <span className="font-medium">{count(trials - made_before, 'trial')}</span>: {costOf(data)}
      </p>
      {unpriced.length > 0 && (
        <p className="mt-1 text-warn">
          What {unpriced.join(', ')} costs is not known (<code className="font-mono">models[].prices</code> of the
          configuration says it): {inNumber(most.tokens ?? 0)} tokens are used at most.
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
            ? 'Start over: all trials are made anew.'
            : `Start over. Else it goes on: ${inNumber(made_before)} of ${inNumber(trials)} trials were made before.`}
        </label>
      )}
    </div>
  )
}

function costOf({ tokens, cost, free, most }: SuiteEstimate): string {
  const used = `about ${inNumber(tokens)} tokens`
  if (free) return `${used}, which cost nothing.`
  if (cost === null) return `${used}.`
  const enough = cost > most.cost ? ' That is probably not enough for all of them.' : ''
  return `${used} and ${inMoney(cost)}; at most ${inMoney(most.cost)} is spent.${enough}`
}
