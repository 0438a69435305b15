import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AgentRun } from '../../../src/server/http/views.ts'
import { runQuery } from '../api/queries.ts'
import { count, inDate, inMoney, inTime } from '../parts/figures.ts'
import { Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { storedRun } from '../testing/run-state.ts'
import { RunTimeline } from '../testing/run-timeline.tsx'
import { RunTurns } from '../testing/run-turns.tsx'
import { StopChip } from '../testing/stop-chip.tsx'
import { RunActions } from './run-actions.tsx'

interface Spent {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: number | null
}

/** What a run and the agents below it have spent. */
function total(own: Spent, agents: readonly AgentRun[]): { readonly tokens: number; readonly cost: number } {
  const below = agents.map((agent) => total(agent, agent.agents))
  const sum = (name: 'tokens' | 'cost', first: number) => below.reduce((all, one) => all + one[name], first)
  return { tokens: sum('tokens', own.prompt_tokens + own.completion_tokens), cost: sum('cost', own.cost ?? 0) }
}

/** The runs of agents below a run. */
function AgentTree({ agents, own }: { readonly agents: readonly AgentRun[]; readonly own: Spent }) {
  const { tokens, cost } = total(own, agents)
  return (
    <section className="panel mt-4 p-4" aria-labelledby="agents">
      <h2 id="agents" className="font-medium">
        Agents
      </h2>
      <p className="mt-1 text-sm text-muted tabular-nums">
        With its agents: {count(tokens, 'token')}
        {cost > 0 && `, ${inMoney(cost)}`}
      </p>
      <AgentList agents={agents} />
    </section>
  )
}

const AgentList = ({ agents }: { readonly agents: readonly AgentRun[] }) => (
  <ul className="mt-2 border-l border-line pl-4">
    {agents.map((agent) => (
      <li key={agent.id} className="mt-2 text-sm">
        <Link href={`/runs/${agent.id}`} className="text-accent underline underline-offset-2">
          {agent.model}
        </Link>
        <span className="ml-2 text-muted tabular-nums">
          {agent.stop_reason}, {inTime(agent.duration_ms)},{' '}
          {count(agent.prompt_tokens + agent.completion_tokens, 'token')}
          {agent.cost !== null && `, ${inMoney(agent.cost)}`}
        </span>
        {agent.agents.length > 0 && <AgentList agents={agent.agents} />}
      </li>
    ))}
  </ul>
)

/** A stored run. */
export function RunPage({ id }: { readonly id: string }) {
  usePageTitle('Run')
  const { data: run, error, refetch } = useQuery(runQuery(id))
  if (run === undefined) {
    return error ? <Failed error={error} what="the run" again={() => void refetch()} /> : <Loading what="the run" />
  }
  const { turns } = storedRun(run)
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm">
        <Link href="/tools-testing" className="text-accent underline underline-offset-2">
          Testing
        </Link>
        <span className="text-muted"> / run {id.slice(0, 8)}</span>
      </nav>
      <h1 className="mt-2 text-2xl font-semibold tracking-tight">Run</h1>
      <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        <StopChip reason={run.stop_reason} />
        <span>{run.model}</span>
        <time dateTime={run.started_at}>{inDate(run.started_at)}</time>
        <span className="tabular-nums">{inTime(run.duration_ms)}</span>
        <span className="tabular-nums">{count(run.prompt_tokens + run.completion_tokens, 'token')}</span>
        {run.cost !== null && <span className="tabular-nums">{inMoney(run.cost)}</span>}
        <Link href={`/activity?run_id=${encodeURIComponent(id)}`} className="text-accent underline underline-offset-2">
          Calls in the audit log
        </Link>
      </div>
      <RunActions run={run} />
      <section className="panel mt-4 min-w-0 p-4" aria-labelledby="timeline">
        <h2 id="timeline" className="mb-2 font-medium">
          Timeline
        </h2>
        <div className="overflow-x-auto">
          <RunTimeline turns={turns} running={false} durationMs={run.duration_ms} />
        </div>
      </section>
      {run.agents !== undefined && <AgentTree agents={run.agents} own={run} />}
      <section className="panel mt-4 p-4">
        <h2 className="sr-only">What happened</h2>
        <h3 className="font-medium">Query</h3>
        <p className="mt-1 break-words whitespace-pre-wrap">{run.question || '(not stored)'}</p>
        <h3 className="mt-4 mb-2 font-medium">Tool Calls ({run.tool_calls})</h3>
        <RunTurns turns={turns} running={false} />
        <h3 className="mt-4 font-medium">Final Response</h3>
        <p className="mt-1 rounded-lg bg-sunk p-3 break-words whitespace-pre-wrap">{run.answer || '(not stored)'}</p>
        {run.error !== null && (
          <div className="mt-3">
            <Note tone="bad">{run.error}</Note>
          </div>
        )}
      </section>
    </>
  )
}
