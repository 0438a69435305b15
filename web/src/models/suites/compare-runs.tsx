import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { ListedSuiteRun, SuiteRunView } from '../../../../src/server/http/views.ts'
import type { ComparedCell, ReportComparison } from '../../../../src/validation/reports/compare-reports.ts'
import { suiteRunsQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { count, inDate, inMoney, inNumber, inTenths } from '../../parts/figures.ts'
import { Chip, Failed, Loading, Note } from '../../parts/states.tsx'
import { CHANGES, type ChangeFilter, comparable } from './compared-runs.ts'

const comparisonQuery = (baseline: string, contender: string) =>
  queryOptions({
    queryKey: ['suite-runs', baseline, 'compare', contender],
    queryFn: ({ signal }) =>
      requestJson<ReportComparison>(
        `/api/validations/runs/${encodeURIComponent(baseline)}/compare/${encodeURIComponent(contender)}`,
        { signal },
      ),
    staleTime: Number.POSITIVE_INFINITY,
  })

const labelOf = ({ created_at, request }: ListedSuiteRun): string =>
  `${inDate(created_at)} · ${request.models.join(', ')}`

/** Chooses the run to compare with. The choice is a part of the address. */
export function CompareRuns({ run }: { readonly run: SuiteRunView }) {
  const { data: runs = [] } = useQuery(suiteRunsQuery)
  const [, navigate] = useLocation()
  const baseline = new URLSearchParams(useSearch()).get('baseline') ?? ''
  const others = comparable(run, runs)
  if (run.report === null || (others.length === 0 && baseline === '')) return null
  const isListed = baseline === '' || others.some(({ id }) => id === baseline)
  const choose = (id: string) =>
    navigate(id === '' ? `/models/runs/${run.id}` : `/models/runs/${run.id}?${new URLSearchParams({ baseline: id })}`, {
      replace: true,
      state: { stay: true },
    })
  return (
    <section aria-labelledby="comparison" className="min-w-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 id="comparison" className="text-lg font-semibold">
          Compare with
        </h2>
        <div className="w-full max-w-md min-w-0 sm:w-auto">
          <Choice
            label="The run to compare with"
            value={baseline}
            options={[
              { value: '', label: 'An earlier run of these suites …' },
              ...others.map((other) => ({ value: other.id, label: labelOf(other) })),
              ...(isListed ? [] : [{ value: baseline, label: `Run ${baseline}` }]),
            ]}
            onChange={choose}
          />
        </div>
      </div>
      {baseline !== '' && <Comparison baseline={baseline} contender={run.id} key={baseline} />}
    </section>
  )
}

const AT_A_TIME = 50
const VERDICTS = { better: 'good', worse: 'bad', no_difference: 'plain', nothing_to_compare: 'warn' } as const
const TONES = { better: 'good', worse: 'bad', same: 'plain' } as const

function Comparison({ baseline, contender }: { readonly baseline: string; readonly contender: string }) {
  const { data, error, refetch } = useQuery(comparisonQuery(baseline, contender))
  const [filter, setFilter] = useState<ChangeFilter>()
  const [shown, setShown] = useState(AT_A_TIME)
  if (data === undefined) {
    return error ? (
      <Failed error={error} what="the comparison" again={() => void refetch()} />
    ) : (
      <Loading what="the comparison" />
    )
  }
  const { cases, sentence, verdict, changed_suites } = data
  const chosen = filter ?? (cases.some(CHANGES.different.fits) ? 'different' : 'all')
  const wanted = cases.filter(CHANGES[chosen].fits)
  return (
    <div className="mt-3 grid grid-cols-1 gap-3">
      <Note tone={VERDICTS[verdict]}>{sentence}.</Note>
      {changed_suites.length > 0 && (
        <Note tone="warn">The cases of {changed_suites.join(', ')} have changed between the two runs.</Note>
      )}
      <Sides comparison={data} />
      <fieldset className="flex flex-wrap gap-2">
        <legend className="sr-only">Which cases are shown</legend>
        {(Object.keys(CHANGES) as ChangeFilter[]).map((name) => (
          <Button
            key={name}
            aria-pressed={name === chosen}
            className="aria-pressed:border-accent aria-pressed:bg-sunk"
            onClick={() => {
              setFilter(name)
              setShown(AT_A_TIME)
            }}
          >
            {CHANGES[name].label} ({inNumber(cases.filter(CHANGES[name].fits).length)})
          </Button>
        ))}
      </fieldset>
      {wanted.length === 0 && <p className="text-sm text-muted">No such cases.</p>}
      {wanted.length > 0 && (
        <section aria-label="Compared cases" className="panel overflow-x-auto" tabIndex={0}>
          <table className="w-full text-left text-sm">
            <thead className="text-xs text-muted">
              <tr>
                {['Case', 'Baseline', 'This run', 'Change'].map((title) => (
                  <th key={title} scope="col" className="px-3 py-2 font-medium">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {wanted.slice(0, shown).map((one) => (
                <tr key={`${one.suite} ${one.case} ${one.model}`} className="border-t border-line align-top">
                  <th scope="row" className="w-1/3 min-w-40 px-3 py-1.5 font-normal">
                    <span className="line-clamp-2 wrap-anywhere">{one.query}</span>
                    <span className="block text-xs wrap-anywhere text-muted">
                      {one.model === null ? one.case : `${one.case}, ${one.model}`}
                    </span>
                  </th>
                  {[one.baseline, one.contender].map((cell, place) => (
                    <td key={place === 0 ? 'baseline' : 'contender'} className="min-w-36 px-3 py-1.5">
                      <Cell cell={cell} />
                    </td>
                  ))}
                  <td className="px-3 py-1.5">
                    {one.change === null ? (
                      <span className="text-muted">–</span>
                    ) : (
                      <Chip tone={TONES[one.change]}>{one.change}</Chip>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {wanted.length > shown && (
        <div>
          <Button onClick={() => setShown(shown + AT_A_TIME)}>Show more</Button>
        </div>
      )}
    </div>
  )
}

/** Rates, tokens and cost of both runs. */
function Sides({ comparison: { baseline, contender } }: { readonly comparison: ReportComparison }) {
  return (
    <dl className="grid gap-3 sm:grid-cols-2">
      {(
        [
          ['Baseline', baseline],
          ['This run', contender],
        ] as const
      ).map(([title, side]) => (
        <div key={title} className="panel p-3">
          <dt className="text-sm text-muted">
            {title} <span className="wrap-anywhere">({side.models.join(', ')})</span>
          </dt>
          <dd className="mt-0.5 tabular-nums">
            <span className="text-xl font-semibold">{side.rate === null ? '–' : inTenths(side.rate)}</span>{' '}
            <span className="text-sm text-muted">
              {inNumber(side.passed)} of {count(side.judged, 'trial')}, {count(side.tokens, 'token')}
              {side.cost !== null && `, ${inMoney(side.cost)}`}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Cell({ cell }: { readonly cell: ComparedCell | null }) {
  if (cell === null) return <span className="text-muted">not in this run</span>
  const { passed, judged, message } = cell
  const state = judged === 0 ? 'not judged' : passed === judged ? 'passed' : 'failed'
  const tone = { 'not judged': 'warn', passed: 'good', failed: 'bad' } as const
  return (
    <>
      <Chip tone={tone[state]}>{judged > 1 ? `${passed} of ${judged} passed` : state}</Chip>
      {message !== undefined && <span className="mt-0.5 line-clamp-2 text-xs wrap-anywhere text-muted">{message}</span>}
    </>
  )
}
