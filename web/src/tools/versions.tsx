import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { VersionReport } from '../../../src/app/versions/rollouts.ts'
import { useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { count, inDate, inTenths, inTime } from '../parts/figures.ts'
import { Chip, Empty, Failed, Loading, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'

const REFRESH_MS = 5_000

const addressOf = (tool: string): string => `/api/tools/${encodeURIComponent(tool)}`

/** All tenants together, for those who may change the rollout. */
const versionsQuery = (tool: string, all: boolean) =>
  queryOptions({
    queryKey: ['versions', tool, all],
    queryFn: ({ signal }) =>
      requestJson<VersionReport>(`${addressOf(tool)}/versions${all ? '?tenant=*' : ''}`, { signal }),
    refetchInterval: REFRESH_MS,
  })

/** The versions of a tool, their comparison, and the rollout. */
export function Versions({ tool }: { readonly tool: string }) {
  const [mayObserve, mayChange] = [useMay('observe'), useMay('installation')]
  const { data: report, error, refetch } = useQuery({ ...versionsQuery(tool, mayChange), enabled: mayObserve })
  if (!mayObserve) return <Empty title="Your key can’t compare versions">It lacks the scope observe.</Empty>
  if (error && report === undefined) return <Failed error={error} what="the versions" again={() => void refetch()} />
  if (report === undefined) return <Loading what="the versions" />
  return (
    <div className="grid grid-cols-1 gap-4">
      {report.comparison !== null && (
        <Note tone={report.comparison.verdict === 'worse' ? 'bad' : 'plain'}>{report.comparison.sentence}.</Note>
      )}
      <Figures report={report} mayChange={mayChange} />
      {mayChange && report.versions.length > 1 && <RolloutControls report={report} />}
    </div>
  )
}

type Shown = VersionReport['versions'][number]

const TITLES = ['Version', 'State', 'Calls', 'Success', 'p50', 'p95', 'Cost']

interface FiguresProps {
  readonly report: VersionReport
  readonly mayChange: boolean
}

function Figures({ report, mayChange }: FiguresProps) {
  const { tool, versions, since, rollout } = report
  // While a rollout runs, it decides.
  const maySwitch = mayChange && rollout?.candidate === undefined
  return (
    <div>
      <section aria-label="Versions" className="panel overflow-x-auto" tabIndex={0}>
        <table className="w-full text-left text-sm">
          <thead className="text-xs text-muted">
            <tr>
              {TITLES.map((title) => (
                <th key={title} scope="col" className="px-4 py-2 font-medium">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="tabular-nums">
            {versions.map((shown) => (
              <tr key={shown.version} className="border-t border-line">
                <th scope="row" className="px-4 py-2 font-mono font-medium">
                  {shown.version}
                </th>
                <td className="px-4 py-2">
                  <span className="flex flex-wrap items-center gap-1.5">
                    <State shown={shown} percent={rollout?.percent ?? 0} />
                    {maySwitch && shown.state === 'other' && <MakeCurrent tool={tool} version={shown.version} />}
                  </span>
                </td>
                <td className="px-4 py-2">{shown.calls}</td>
                <td className="px-4 py-2">{ranged(shown.success_rate, shown.success_interval, inTenths)}</td>
                <td className="px-4 py-2">{ranged(shown.p50_ms, shown.p50_interval, inTime)}</td>
                <td className="px-4 py-2">{ranged(shown.p95_ms, shown.p95_interval, inTime)}</td>
                <td className="px-4 py-2">{shown.cost ?? '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="mt-2 text-sm text-muted">Calls since {inDate(since)}, with 95 % confidence intervals.</p>
    </div>
  )
}

/** Gives all callers another version, which may be an older one. */
function MakeCurrent({ tool, version }: { readonly tool: string; readonly version: string }) {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const address = `${addressOf(tool)}/rollout`
      await requestJson(address, { method: 'PUT', body: { candidate: version, percent: 0 } })
      await requestJson(`${address}/promote`, { method: 'POST', body: {} })
    },
    onSuccess: () => toast({ text: `${tool} ${version} is the current version` }),
    onError: (error) => toast({ text: `${version} is not the current version. ${error.message}` }),
    onSettled: () =>
      Promise.all([['versions', tool], ['tools']].map((queryKey) => client.invalidateQueries({ queryKey }))),
  })
  return (
    <>
      <Button aria-label={`Make current: ${version}`} disabled={isPending} onClick={() => setAsking(true)}>
        Make current
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Make ${version} the current version of ${tool}?`}
        action="Make current"
        onConfirm={() => {
          setAsking(false)
          mutate()
        }}
        onClose={() => setAsking(false)}
      >
        Calls of the name take this version from now on. Runs that were offered another one go on with that.
      </ConfirmDialog>
    </>
  )
}

function State({ shown: { state, deprecated }, percent }: { readonly shown: Shown; readonly percent: number }) {
  return (
    <>
      {state === 'current' && <Chip tone="good">current</Chip>}
      {state === 'candidate' && <Chip>candidate, {percent} %</Chip>}
      {deprecated && <Chip tone="warn">deprecated</Chip>}
    </>
  )
}

function ranged(value: number | null, range: Shown['p50_interval'], text: (value: number) => string): string {
  if (value === null) return '–'
  return range === null ? text(value) : `${text(value)} (${text(range.low)} – ${text(range.high)})`
}

interface Change {
  readonly method: 'PUT' | 'POST'
  readonly path: string
  readonly body: object
}

function RolloutControls({ report: { tool, rollout, versions } }: { readonly report: VersionReport }) {
  const client = useQueryClient()
  const others = versions.filter(({ state }) => state !== 'current').map(({ version }) => version)
  const running = rollout?.candidate
  const [chosen, setChosen] = useState<string>()
  const [percent, setPercent] = useState(String(rollout?.percent ?? 10))
  const candidate = running ?? (chosen !== undefined && others.includes(chosen) ? chosen : (others.at(-1) ?? ''))
  const change = useMutation({
    mutationFn: ({ method, path, body }: Change) => requestJson(`${addressOf(tool)}/rollout${path}`, { method, body }),
    onSuccess: () =>
      Promise.all([['versions', tool], ['tools']].map((queryKey) => client.invalidateQueries({ queryKey }))),
  })
  const start = (event: React.FormEvent) => {
    event.preventDefault()
    const { by, guard } = rollout ?? {}
    const kept = { ...(by && { by }), ...(guard && { guard }) }
    change.mutate({ method: 'PUT', path: '', body: { candidate, percent: Number(percent), ...kept } })
  }
  return (
    <section aria-label="Rollout" className="panel grid grid-cols-1 gap-3 p-4">
      <h2 className="font-semibold">Rollout</h2>
      <form className="flex flex-wrap items-center gap-2 text-sm" onSubmit={start}>
        {running === undefined ? (
          <span className="w-40">
            <Choice
              label="Candidate"
              value={candidate}
              options={others.map((value) => ({ value, label: value }))}
              onChange={setChosen}
            />
          </span>
        ) : (
          <span className="font-mono">{running}</span>
        )}
        for
        <input
          aria-label="Percent of callers"
          className="field w-20"
          type="number"
          min={0}
          max={100}
          step="any"
          required
          value={percent}
          onChange={(event) => setPercent(event.target.value)}
        />
        % of callers
        <Button type="submit" look={running === undefined ? 'main' : 'plain'} disabled={change.isPending}>
          {running === undefined ? 'Start' : 'Change'}
        </Button>
        {running !== undefined && (
          <>
            <Button
              look="main"
              disabled={change.isPending}
              onClick={() => change.mutate({ method: 'POST', path: '/promote', body: {} })}
            >
              Promote
            </Button>
            <Button
              look="danger"
              disabled={change.isPending}
              onClick={() => change.mutate({ method: 'POST', path: '/rollback', body: {} })}
            >
              Roll back
            </Button>
          </>
        )}
      </form>
      {rollout?.guard !== undefined && (
        <p className="text-sm text-muted">
          It rolls back by itself if the candidate fails more often, from{' '}
          {count(rollout.guard.min_calls ?? 100, 'call')} of each side on.
        </p>
      )}
      {change.error && (
        <Note tone="bad" role="alert">
          {change.error.message}
        </Note>
      )}
    </section>
  )
}
