import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type ListedModel, runQuery, useMay } from '../api/queries.ts'
import { useAnnounced } from '../parts/announce.tsx'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { count, inMoney, inTime } from '../parts/figures.ts'
import { MarkdownView } from '../parts/markdown-view.tsx'
import { Chip, Failed, Loading, Note } from '../parts/states.tsx'
import { RateAnswer } from '../runs/rate-answer.tsx'
import { ApproveCalls, useDecided } from './approve-calls.tsx'
import { ComparedWith } from './compared-with.tsx'
import { ModelBadge } from './model-badge.tsx'
import { RecordTest } from './record-test.tsx'
import { replySaid } from './reply-said.ts'
import { storedRun } from './run-state.ts'
import { RunTimeline } from './run-timeline.tsx'
import { RunTurns } from './run-turns.tsx'
import { StopChip } from './stop-chip.tsx'
import { callsIn, type Reply, toolsIn } from './threads.ts'

/** Whether the provider has refused the key. */
const lacksKey = (problem = ''): boolean => problem.includes('Check the api_key')

const TONES = { running: 'plain', waiting: 'warn', done: 'good', cancelled: 'warn', failed: 'bad' } as const

interface ReplyViewProps {
  readonly reply: Reply
  /** Undefined if the model was removed. */
  readonly model: ListedModel | undefined
  /** Whether it answers the last question of the thread. */
  readonly isLatest: boolean
  readonly stop: () => void
  /** The id of a run that this one repeats. */
  readonly before?: string | undefined
}

/** What a model answers: the answer first, and its calls below. */
export function ReplyView({ reply, model, isLatest, stop, before }: ReplyViewProps) {
  const { status, turns, answer, problem, durationMs } = reply
  const mayInstall = useMay('installation')
  const approvals = status === 'waiting' ? (answer?.approvals ?? []) : []
  const goesOn = useDecided(approvals)
  const running = status === 'running'
  useAnnounced(replySaid(reply, model?.name ?? reply.model))
  const last = turns.at(-1)
  const spoken = last?.calls.length === 0 ? last.text : ''
  const text = answer?.content || spoken
  return (
    <article className="panel min-w-0 p-4" aria-label={`Results of ${reply.model}`}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-semibold wrap-anywhere">{model?.name ?? reply.model}</h3>
        {model !== undefined && <ModelBadge model={model} />}
        <span className="ml-auto flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted tabular-nums">
          <span role="status">{(running || goesOn) && <span className="moving">The model is responding …</span>}</span>
          {!running && !goesOn && durationMs !== undefined && <span>{inTime(durationMs)}</span>}
          {answer?.usage !== undefined && <span>{count(answer.usage.total_tokens, 'token')}</span>}
          {answer?.cost !== undefined && <span>{inMoney(answer.cost)}</span>}
          {answer === undefined || status === 'cancelled'
            ? !running && <Chip tone={TONES[status]}>{status}</Chip>
            : !goesOn && <StopChip reason={answer.stop_reason} />}
          {(running || status === 'waiting') && (
            <Button look="danger" onClick={stop}>
              Cancel
            </Button>
          )}
        </span>
      </div>
      {(text !== '' || answer !== undefined) && (
        <>
          <h4 className="sr-only">Final Response</h4>
          <div className="mt-2">
            <MarkdownView text={text || '(empty)'} />
          </div>
        </>
      )}
      {answer?.final_answer !== undefined && (
        <p className="mt-2 text-sm text-muted">Answer without tools: {answer.final_answer}</p>
      )}
      {answer?.max_iterations_reached && (
        <Said tone="warn">The run reached the maximum number of tool calls before the model answered.</Said>
      )}
      {problem !== undefined && <Said tone={status === 'cancelled' ? 'warn' : 'bad'}>{problem}</Said>}
      {answer?.error !== undefined && <Said tone="bad">{answer.error}</Said>}
      {mayInstall && lacksKey(problem ?? answer?.error) && (
        <Link href="/settings#secrets" className="mt-2 inline-block text-sm text-accent underline underline-offset-2">
          Replace the key in Settings
        </Link>
      )}
      {approvals.length > 0 && <ApproveCalls approvals={approvals} />}
      <Calls reply={reply} />
      {answer !== undefined && status !== 'waiting' && (
        <>
          <div className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
            <dl className="flex flex-wrap gap-x-4 gap-y-1">
              <div className="flex gap-1.5">
                <dt className="text-muted">Model</dt>
                <dd className="font-medium">{answer.model}</dd>
              </div>
              <div className="flex gap-1.5">
                <dt className="text-muted">Service</dt>
                <dd className="font-medium">{answer.service}</dd>
              </div>
            </dl>
            {answer.run_id !== undefined && (
              <Link href={`/runs/${answer.run_id}`} className="text-accent underline underline-offset-2">
                Link to this run
              </Link>
            )}
            <span className="-my-1 ml-auto">
              <CopyButton text={answer.content} label="Copy answer" look="quiet" />
            </span>
          </div>
          {answer.run_id !== undefined && (
            <div className="mt-2">
              <RateAnswer subject={{ run_id: answer.run_id }} />
            </div>
          )}
          {before !== undefined && <ComparedWith run={before} answer={answer} />}
          {status === 'done' && <RecordTest run={reply} answer={answer} isFolded={!isLatest} key={answer.run_id} />}
        </>
      )}
    </article>
  )
}

const Said = ({ tone, children }: { readonly tone: 'warn' | 'bad'; readonly children: ReactNode }) => (
  <div className="mt-3">
    <Note tone={tone}>{children}</Note>
  </div>
)

/** The calls, open while the model works and folded when it has answered. */
function Calls({ reply }: { readonly reply: Reply }) {
  const { status, turns, answer, durationMs } = reply
  const calls = callsIn(reply)
  const running = status === 'running'
  const [chosen, setChosen] = useState<boolean>()
  const open = chosen ?? (running && calls > 0)
  const names = [...new Set(toolsIn(reply))]
  const isHere = turns.length > 0
  if (!running && !isHere && answer?.run_id === undefined) return null
  return (
    <details
      className="mt-3 border-t border-line pt-2"
      open={open}
      onToggle={({ currentTarget }) => currentTarget.open !== open && setChosen(currentTarget.open)}
    >
      <summary className="text-sm">
        <h4 className="inline font-medium">Tool Calls ({calls})</h4>
        {names.length > 0 && (
          <span className="ml-2 font-mono text-xs wrap-anywhere text-muted">{names.join(', ')}</span>
        )}
      </summary>
      {open && (
        <div className="mt-3">
          {isHere ? (
            <>
              <RunTurns turns={turns} running={running} />
              <div className="mt-3 overflow-x-auto">
                <RunTimeline turns={turns} running={running} durationMs={durationMs} />
              </div>
            </>
          ) : (
            <StoredCalls run={answer?.run_id ?? ''} status={status} />
          )}
        </div>
      )}
    </details>
  )
}

/** The calls of a run that was made before the page was loaded. */
function StoredCalls({ run, status }: { readonly run: string; readonly status: Reply['status'] }) {
  const { data, error, refetch } = useQuery({ ...runQuery(run), queryKey: ['runs', run, status] })
  if (data === undefined) {
    return error ? <Failed error={error} what="the calls" again={() => void refetch()} /> : <Loading what="the calls" />
  }
  const { turns } = storedRun(data)
  return (
    <>
      <RunTurns turns={turns} running={false} />
      <div className="mt-3 overflow-x-auto">
        <RunTimeline turns={turns} running={false} durationMs={data.duration_ms} />
      </div>
    </>
  )
}
