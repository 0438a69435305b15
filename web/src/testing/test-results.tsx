import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { count, inMoney, inTime } from '../parts/figures.ts'
import { Chip, Note } from '../parts/states.tsx'
import { ComparedWith } from './compared-with.tsx'
import { RecordTest } from './record-test.tsx'
import type { RunState } from './run-state.ts'
import { RunTimeline } from './run-timeline.tsx'
import { RunTurns } from './run-turns.tsx'

const STATUS = {
  running: { tone: 'plain', word: 'running' },
  done: { tone: 'good', word: 'finished' },
  cancelled: { tone: 'warn', word: 'cancelled' },
  failed: { tone: 'bad', word: 'failed' },
} as const

interface TestResultsProps {
  readonly run: RunState
  readonly cancel: () => void
  /** The id of a run that this one repeats. */
  readonly before?: string | undefined
}

/** One run: as it happens, and what came of it. */
export function TestResults({ run, cancel, before }: TestResultsProps) {
  const { status, turns, answer, problem, durationMs } = run
  const running = status === 'running'
  const calls = turns.reduce((sum, turn) => sum + turn.calls.length, 0)
  const spoken = turns.at(-1)?.calls.length === 0 ? (turns.at(-1)?.text ?? '') : ''
  const bad = answer !== undefined && answer.stop_reason !== 'stop'
  const { tone, word } = bad ? { tone: 'warn' as const, word: answer.stop_reason } : STATUS[status]
  return (
    <article className="panel min-w-0 p-4" aria-label={`Results of ${run.model}`}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Chip tone={tone}>{word}</Chip>
        <span className="text-sm text-muted tabular-nums" role="status">
          {running ? (
            <span className="moving">The model is at work …</span>
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
            The maximum number of tool calls was reached, so the model was stopped before it had come to an answer.
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
      <h3 className="mt-4 mb-2 font-medium">Tool Calls ({answer?.tool_calls.length ?? calls})</h3>
      <RunTurns turns={turns} running={running} />
      <details className="mt-3" open>
        <summary className="cursor-pointer text-sm font-medium">Timeline</summary>
        <div className="mt-1 overflow-x-auto">
          <RunTimeline turns={turns} running={running} durationMs={durationMs} />
        </div>
      </details>
      {(spoken !== '' || answer !== undefined) && (
        <>
          <h3 className="mt-4 font-medium">Final Response</h3>
          <p className="mt-1 rounded-lg bg-sunk p-3 break-words whitespace-pre-wrap">
            {answer?.content || spoken || '(empty)'}
          </p>
        </>
      )}
      {answer?.final_answer !== undefined && (
        <p className="mt-2 text-sm text-muted">Asked once more without tools, it said: {answer.final_answer}</p>
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
