import { Link } from 'wouter'
import type { ListedModel } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { count, inMoney, inTime } from '../parts/figures.ts'
import { Chip, Note } from '../parts/states.tsx'
import { ComparedWith } from './compared-with.tsx'
import { ModelBadge } from './model-badge.tsx'
import { RecordTest } from './record-test.tsx'
import type { RunState } from './run-state.ts'
import { RunTimeline } from './run-timeline.tsx'
import { RunTurns } from './run-turns.tsx'
import { StopChip } from './stop-chip.tsx'

const TONES = { running: 'plain', done: 'good', cancelled: 'warn', failed: 'bad' } as const

interface TestResultsProps {
  readonly run: RunState
  /** Undefined if the model was removed. */
  readonly model: ListedModel | undefined
  readonly cancel: () => void
  /** The id of a run that this one repeats. */
  readonly before?: string | undefined
}

/** A live or finished run. */
export function TestResults({ run, model, cancel, before }: TestResultsProps) {
  const { status, turns, answer, problem, durationMs } = run
  const running = status === 'running'
  const calls = turns.reduce((sum, turn) => sum + turn.calls.length, 0)
  const spoken = turns.at(-1)?.calls.length === 0 ? (turns.at(-1)?.text ?? '') : ''
  return (
    <article className="panel min-w-0 p-4" aria-label={`Results of ${run.model}`}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-semibold wrap-anywhere">{model?.name ?? run.model}</h3>
        {model !== undefined && <ModelBadge model={model} />}
      </div>
      <p className="mt-1 mb-2 line-clamp-3 wrap-anywhere text-muted">“{run.query}”</p>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {answer === undefined ? <Chip tone={TONES[status]}>{status}</Chip> : <StopChip reason={answer.stop_reason} />}
        <span className="text-sm text-muted tabular-nums" role="status">
          {running ? (
            <span className="moving">The model is responding …</span>
          ) : (
            durationMs !== undefined && inTime(durationMs)
          )}
        </span>
        {answer?.usage !== undefined && (
          <span className="text-sm text-muted tabular-nums">{count(answer.usage.total_tokens, 'token')}</span>
        )}
        {answer?.cost !== undefined && <span className="text-sm text-muted tabular-nums">{inMoney(answer.cost)}</span>}
        {answer?.run_id !== undefined && (
          <Link href={`/runs/${answer.run_id}`} className="text-sm text-accent underline underline-offset-2">
            Link to this run
          </Link>
        )}
        {running && (
          <Button look="danger" className="ml-auto" onClick={cancel}>
            Cancel
          </Button>
        )}
      </div>
      {answer?.max_iterations_reached && (
        <div className="mt-3">
          <Note tone="warn" role="alert">
            The run reached the maximum number of tool calls before the model answered.
          </Note>
        </div>
      )}
      {problem !== undefined && (
        <div className="mt-3">
          <Note tone={status === 'cancelled' ? 'warn' : 'bad'} role="alert">
            {problem}
          </Note>
        </div>
      )}
      {answer?.error !== undefined && (
        <div className="mt-3">
          <Note tone="bad" role="alert">
            {answer.error}
          </Note>
        </div>
      )}
      <h4 className="mt-4 mb-2 font-medium">Tool Calls ({answer?.tool_calls.length ?? calls})</h4>
      <RunTurns turns={turns} running={running} />
      <details className="mt-3" open>
        <summary className="cursor-pointer text-sm font-medium">Timeline</summary>
        <div className="mt-1 overflow-x-auto">
          <RunTimeline turns={turns} running={running} durationMs={durationMs} />
        </div>
      </details>
      {(spoken !== '' || answer !== undefined) && (
        <>
          <h4 className="mt-4 font-medium">Final Response</h4>
          <p className="mt-1 rounded-lg bg-sunk p-3 break-words whitespace-pre-wrap">
            {answer?.content || spoken || '(empty)'}
          </p>
        </>
      )}
      {answer?.final_answer !== undefined && (
        <p className="mt-2 text-sm text-muted">Answer without tools: {answer.final_answer}</p>
      )}
      {answer !== undefined && (
        <>
          <dl className="mt-3 flex flex-wrap gap-x-6 gap-y-1 text-sm">
            <div className="flex gap-1.5">
              <dt className="text-muted">Model</dt>
              <dd className="font-medium">{answer.model}</dd>
            </div>
            <div className="flex gap-1.5">
              <dt className="text-muted">Service</dt>
              <dd className="font-medium">{answer.service}</dd>
            </div>
          </dl>
          {before !== undefined && <ComparedWith run={before} answer={answer} />}
          <RecordTest run={run} answer={answer} key={answer.run_id} />
        </>
      )}
    </article>
  )
}
