import type { LatestTrial, ModelProgress, SuiteProgress } from '../../../../src/server/http/views.ts'
import type { ListedModel } from '../../api/queries.ts'
import { count, inMoney, inNumber, inPercent } from '../../parts/figures.ts'
import { Chip, Note } from '../../parts/states.tsx'
import { ModelBadge } from '../../testing/model-badge.tsx'
import { OUTCOMES } from './outcomes.ts'

interface SuiteProgressProps {
  readonly progress: SuiteProgress
  readonly running: boolean
  readonly models: readonly ListedModel[]
}

/** The progress of a suite run: in total, by model, and the latest trials. */
export function SuiteProgressView({ progress, running, models }: SuiteProgressProps) {
  const { trials, made, made_before, tokens, cost, latest, not_recorded } = progress
  const left = trials - made_before
  return (
    <section aria-label="Progress" className="panel min-w-0 p-4">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p role="status" className="font-medium tabular-nums">
          {running ? `${inNumber(made)} of ${count(left, 'trial')}` : endOf(progress)}
        </p>
        <p className="text-sm text-muted tabular-nums">
          {count(tokens, 'token')}
          {cost > 0 && `, ${inMoney(cost)}`}
          {made_before > 0 && `; ${inNumber(made_before)} reused`}
        </p>
      </div>
      <div
        role="progressbar"
        aria-label="Completed trials"
        aria-valuemin={0}
        aria-valuemax={left}
        aria-valuenow={made}
        className="mt-2 h-2.5 overflow-hidden rounded-full bg-sunk"
      >
        <div
          className="h-full rounded-full bg-accent"
          style={{ width: `${left === 0 ? 100 : (made / left) * 100}%` }}
        />
      </div>
      <ul aria-label="Models" className="mt-4 grid grid-cols-1 gap-2">
        {progress.models.map((one) => (
          <ModelRow key={one.id} progress={one} model={models.find(({ id }) => id === one.id)} />
        ))}
      </ul>
      {not_recorded !== undefined && (
        <div className="mt-3">
          <Note tone="bad" role="alert">
            {not_recorded}
          </Note>
        </div>
      )}
      {running && latest.length > 0 && (
        <>
          <h2 className="mt-4 text-sm font-medium">Latest trials</h2>
          <ul className="mt-1 grid min-h-40 content-start gap-1 text-sm">
            {latest.map((trial) => (
              <Latest key={`${trial.suite} ${trial.model} ${trial.case} ${trial.repetition}`} trial={trial} />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function endOf({ models, trials, made, made_before }: SuiteProgress): string {
  const passed = models.reduce((sum, one) => sum + one.passed, 0)
  const notRun = trials - made_before - made
  return `${inNumber(passed)} of ${inNumber(made)} passed${notRun > 0 ? `, ${inNumber(notRun)} not run` : ''}`
}

const Latest = ({ trial }: { readonly trial: LatestTrial }) => (
  <li className="flex items-baseline gap-2">
    <Chip tone={OUTCOMES[trial.outcome].tone}>{OUTCOMES[trial.outcome].word}</Chip>
    <span className="min-w-0 break-words">
      <span className="font-medium">{trial.case}</span>{' '}
      <span className="text-muted">{trial.message ?? trial.model}</span>
    </span>
  </li>
)

interface ModelRowProps {
  readonly progress: ModelProgress
  readonly model: ListedModel | undefined
}

function ModelRow({ progress, model }: ModelRowProps) {
  const { id, passed, failed, not_answered, stopped } = progress
  const judged = passed + failed
  return (
    <li className="rounded-lg border border-line p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-medium break-all">{model?.name ?? id}</span>
        {model !== undefined && <ModelBadge model={model} />}
        <span className="text-sm tabular-nums">
          <span className="text-good">{inNumber(passed)} passed</span>,{' '}
          <span className={failed > 0 ? 'text-bad' : 'text-muted'}>{inNumber(failed)} failed</span>
          {not_answered > 0 && <span className="text-warn">, {inNumber(not_answered)} not answered</span>}
          {judged > 0 && <span className="text-muted"> ({inPercent(passed / judged)} in this run)</span>}
        </span>
      </div>
      {stopped !== undefined && <p className="mt-1 text-sm break-words text-warn">{stopped.message}</p>}
    </li>
  )
}
