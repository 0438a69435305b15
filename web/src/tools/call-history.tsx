import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { historyQuery, useMay } from '../api/queries.ts'
import { inDate, inMoment, inTime } from '../parts/figures.ts'
import { OutcomeChip } from '../parts/outcome-chip.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'

/** The latest calls of a tool from the audit log. */
export function CallHistory({ tool }: { readonly tool: string }) {
  const mayObserve = useMay('observe')
  const { data: rows, error, refetch } = useQuery({ ...historyQuery(tool), enabled: mayObserve })
  if (!mayObserve) return <Empty title="Your key can’t view calls">It lacks the scope observe.</Empty>
  if (error && rows === undefined) return <Failed error={error} what="the history" again={() => void refetch()} />
  if (rows === undefined) return <Loading what="the history" />
  if (rows.length === 0) return <Empty title="No calls yet">Run the tool above.</Empty>
  const isVersioned = rows.some(({ version }) => version !== null)
  const titles = [
    'Time',
    'Outcome',
    ...(isVersioned ? ['Version'] : []),
    'Duration',
    'Interface',
    'Caller',
    'Call',
    'Run',
  ]
  return (
    <>
      <section aria-label="Latest calls" className="panel overflow-x-auto" tabIndex={0}>
        <table className="w-full text-left text-sm">
          <thead className="text-xs text-muted">
            <tr>
              {titles.map((title) => (
                <th key={title} scope="col" className="px-4 py-2 font-medium">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ id, time, outcome, error_code, version, duration_ms, source, caller, run_id }) => (
              <tr key={id} className="border-t border-line">
                <td className="px-4 py-2 whitespace-nowrap">
                  <time dateTime={time}>{inDate(time)}</time>
                </td>
                <td className="px-4 py-2">
                  <OutcomeChip outcome={outcome} error_code={error_code} />
                </td>
                {isVersioned && <td className="px-4 py-2 font-mono text-xs">{version}</td>}
                <td className="px-4 py-2 whitespace-nowrap tabular-nums">{inTime(duration_ms)}</td>
                <td className="px-4 py-2">{source}</td>
                <td className="px-4 py-2 font-mono text-xs">{caller}</td>
                <td className="px-4 py-2">
                  <Link
                    href={`/activity/calls/${encodeURIComponent(id)}`}
                    aria-label={`open the call of ${inMoment(time)}`}
                    className="text-accent underline"
                  >
                    open
                  </Link>
                </td>
                <td className="px-4 py-2">
                  {run_id !== null && (
                    <Link
                      href={`/runs/${run_id}`}
                      aria-label={`open the run with the call of ${inMoment(time)}`}
                      className="text-accent underline"
                    >
                      open
                    </Link>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="mt-2 text-sm">
        <Link href={`/activity/calls?tool=${encodeURIComponent(tool)}`} className="text-accent underline">
          All calls
        </Link>
        {' · '}
        <Link href={`/activity/metrics?tool=${encodeURIComponent(tool)}`} className="text-accent underline">
          Metrics
        </Link>
      </p>
    </>
  )
}
