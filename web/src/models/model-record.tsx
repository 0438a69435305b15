import type { ListedModel } from '../api/queries.ts'
import { inDate, inPercent } from '../parts/figures.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { Chip } from '../parts/states.tsx'
import { ModelBadge } from '../testing/model-badge.tsx'
import { ModelScoresTable } from './model-scores.tsx'

/** A model with its test results and benchmark scores. */
export function ModelRecord({ model }: { readonly model: ListedModel }) {
  const { id, name, validation, scores, reason } = model
  const { test_count, success_count, test_history } = validation
  const rest = test_count - test_history.length
  return (
    <li className="panel p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="font-semibold">{name}</h2>
        <ModelBadge model={model} />
        <span className="font-mono text-xs break-all text-muted">{id}</span>
        {test_count > 0 && <span className="text-sm tabular-nums">{inPercent(success_count / test_count)}</span>}
      </div>
      {reason !== undefined && <p className="mt-1 text-sm wrap-anywhere">{reason}</p>}
      {test_history.length > 0 && (
        <details className="mt-3">
          <summary className="cursor-pointer text-sm font-medium">Test history</summary>
          <ol className="mt-2 grid grid-cols-1 gap-2" aria-label={`Tests of ${name}, newest first`}>
            {test_history.toReversed().map(({ timestamp, success, error, details }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: tests have no ids, and two may have the same time.
              <li key={`${timestamp} ${index}`} className="rounded-lg border border-line p-3 text-sm">
                <div className="flex flex-wrap items-center gap-2">
                  <Chip tone={success ? 'good' : 'bad'}>{success ? 'passed' : 'failed'}</Chip>
                  <time dateTime={timestamp} className="text-muted">
                    {inDate(timestamp)}
                  </time>
                </div>
                {error !== undefined && <p className="mt-1 break-words">{error}</p>}
                {details !== undefined && <JsonTree value={details} label="Details of the test" />}
              </li>
            ))}
          </ol>
          {rest > 0 && <p className="mt-2 text-sm text-muted">{rest} older tests are counted but no longer listed.</p>}
        </details>
      )}
      {scores !== undefined && <ModelScoresTable scores={scores} />}
    </li>
  )
}
