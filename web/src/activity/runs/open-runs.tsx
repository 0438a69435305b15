import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { OpenRun } from '../../../../src/app/durable/durable-runs.ts'
import { serverIsUp } from '../../api/connection.ts'
import { requestJson } from '../../api/request.ts'
import { count, inMoment, inMoney, inTime } from '../../parts/figures.ts'
import { Chip } from '../../parts/states.tsx'
import type { Filters } from '../list-view.ts'
import { MAX_SHOWN, openPath } from './open-path.ts'
import { RUN_COLUMNS } from './run-columns.ts'

const LIVE_MS = 3_000

const openQuery = (path: string) =>
  queryOptions({
    queryKey: ['list', path],
    queryFn: ({ signal }) => requestJson<{ runs: OpenRun[] }>(path, { signal }),
    select: ({ runs }) => runs,
  })

/** Durable runs that work or wait for approval. */
export function OpenRuns({ filters }: { readonly filters: Filters }) {
  const path = openPath(filters)
  const { data: runs = [] } = useQuery({
    ...openQuery(path ?? ''),
    enabled: path !== null,
    refetchInterval: () => serverIsUp() && LIVE_MS,
  })
  if (path === null || runs.length === 0) return null
  return (
    <section aria-labelledby="in-progress">
      <h3 id="in-progress" className="text-sm font-medium">
        In progress ({runs.length === MAX_SHOWN ? `the newest ${MAX_SHOWN}` : runs.length})
      </h3>
      <ul className="panel mt-2 divide-y divide-line overflow-hidden">
        {runs.map((run) => (
          <li key={run.id}>
            <Link href={`/runs/${run.id}`} className={`${RUN_COLUMNS} py-1.5 text-sm hover:bg-sunk`}>
              <span className="truncate font-medium">{run.question || '(question not stored)'}</span>
              <span>
                {run.status === 'waiting' ? <Chip tone="warn">waits for approval</Chip> : <Chip>running</Chip>}
              </span>
              <span className="truncate text-muted max-md:hidden">{run.model}</span>
              <span className="text-right text-muted tabular-nums max-md:hidden">{count(run.tool_calls, 'call')}</span>
              <span className="text-right tabular-nums max-md:hidden">{inTime(run.duration_ms)}</span>
              <span className="text-right text-muted tabular-nums max-md:hidden">
                {run.cost === null ? '–' : inMoney(run.cost)}
              </span>
              <time
                dateTime={run.started_at}
                className="text-right whitespace-nowrap text-muted tabular-nums max-md:hidden"
              >
                {inMoment(run.started_at)}
              </time>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
