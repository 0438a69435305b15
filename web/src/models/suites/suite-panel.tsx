import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import type { ListedSuiteRun, SuiteRequest } from '../../../../src/server/http/views.ts'
import { estimateQuery, type ListedModel, sessionQuery, suiteRunsQuery, suitesQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { count, inMoney } from '../../parts/figures.ts'
import { Failed, Loading, Note } from '../../parts/states.tsx'
import { useSettled } from '../../parts/use-settled.ts'
import { ModelBadge } from '../../testing/model-badge.tsx'
import { Estimate } from './estimate.tsx'
import { Many } from './many.tsx'
import { NumberField } from './number-field.tsx'

const KINDS = {
  generated: 'Generated from your tools, with up to four cases each.',
  saved: 'Saved from calls and runs.',
  bfcl: 'From the Berkeley Function-Calling Leaderboard, with its own tools.',
}

/** The typed text; may be empty. */
interface Numbers {
  readonly repeat: string
  readonly limit: string
  readonly budget: string
}

/** Scrolls to the form and focuses its first field when a link asks for a suite. */
const showOnce = (form: HTMLElement) => {
  // After the page has moved the focus to its start.
  const frame = requestAnimationFrame(() => {
    form.querySelector<HTMLInputElement>('input:enabled')?.focus({ preventScroll: true })
    form.scrollIntoView()
  })
  return () => cancelAnimationFrame(frame)
}

/** The form that starts a suite run, with an estimate of its cost. */
export function SuitePanel({ models }: { readonly models: readonly ListedModel[] }) {
  const client = useQueryClient()
  const [, goTo] = useLocation()
  const suites = useQuery(suitesQuery)
  const { data: { currency = 'USD' } = {} } = useQuery(sessionQuery)
  const running = useQuery(suiteRunsQuery).data?.find(({ state }) => state === 'running')
  const [params] = useSearchParams()
  const asked = params.get('suite')
  const usable = models.filter(({ reason }) => reason === undefined)
  const [chosenModels, setModels] = useState<readonly string[]>(usable.length === 1 ? usable.map(({ id }) => id) : [])
  const [chosenSuites, setSuites] = useState<readonly string[]>([asked ?? 'generated'])
  const [numbers, setNumbers] = useState<Numbers>({ repeat: '1', limit: '', budget: '1' })
  const [fresh, setFresh] = useState(false)
  const [asking, setAsking] = useState(false)
  const typed = JSON.stringify(requestOf(chosenModels, chosenSuites, numbers, fresh))
  const settled = useSettled(typed)
  const request = JSON.parse(settled) as SuiteRequest
  const ready = request.models.length > 0 && request.suites.length > 0
  const estimate = useQuery({ ...estimateQuery(request), enabled: ready })
  const start = useMutation({
    mutationFn: () => requestJson<ListedSuiteRun>('/api/validations/runs', { method: 'POST', body: request }),
    onSuccess: (run) => goTo(`/models/runs/${run.id}`),
    onSettled: () => void client.invalidateQueries({ queryKey: ['suite-runs'] }),
  })
  const set = (name: keyof Numbers) => (value: string) => setNumbers((before) => ({ ...before, [name]: value }))
  if (suites.data === undefined) {
    if (suites.error) return <Failed error={suites.error} what="the suites" again={() => void suites.refetch()} />
    return <Loading what="the suites" />
  }
  return (
    <section aria-labelledby="suites" className="panel min-w-0 p-4" ref={asked === null ? undefined : showOnce}>
      <h2 id="suites" className="text-lg font-semibold">
        Run a suite
      </h2>
      <p className="mt-1 max-w-prose text-sm text-muted">
        A suite is a list of cases with expected calls. All tools are mocks, so no real call is made. Each trial counts
        as a test of its model.
      </p>
      <div className="mt-4 grid gap-5 md:grid-cols-2">
        <Many
          legend="Models"
          chosen={chosenModels}
          onChange={setModels}
          options={models.map((model) => ({
            id: model.id,
            title: model.name,
            ...(model.reason === undefined
              ? { more: <ModelBadge model={model} /> }
              : { bad: true, note: model.reason }),
          }))}
        />
        <Many
          legend="Suites"
          chosen={chosenSuites}
          onChange={setSuites}
          options={suites.data.suites.map(({ id, kind, name, cases, problem, remark }) => ({
            id,
            title: name,
            note: problem ?? remark ?? (kind === 'file' ? id : KINDS[kind]),
            bad: problem !== undefined,
            more: cases !== undefined && (
              <>
                <span className="text-xs text-muted">{count(cases, 'case')}</span>
                {kind === 'saved' && (
                  <Link href={`/models/suites/${name}`} className="text-xs text-accent underline">
                    edit
                  </Link>
                )}
              </>
            ),
          }))}
        />
      </div>
      <p className="mt-2 text-sm text-muted">
        Put your own suites into the folder <code className="font-mono">{suites.data.folder.name}</code> of the data
        folder (<code className="font-mono">.toolyard</code> or TOOLYARD_DATA).
      </p>
      <div className="mt-4 grid grid-cols-[repeat(auto-fit,minmax(min(100%,11rem),1fr))] gap-3">
        <NumberField
          label="Repetitions of each case"
          value={numbers.repeat}
          onChange={set('repeat')}
          min={1}
          max={100}
        />
        <NumberField
          label="Maximum cases of each suite"
          value={numbers.limit}
          onChange={set('limit')}
          min={1}
          max={10_000}
          hint="all"
        />
        <NumberField
          label={`Budget in ${currency}`}
          value={numbers.budget}
          onChange={set('budget')}
          min={0}
          max={1_000}
          step={0.01}
        />
      </div>
      <div className="mt-4 min-h-16">
        <Estimate ready={ready} estimate={estimate} fresh={fresh} onFresh={setFresh} />
      </div>
      {start.error && (
        <div className="mt-2">
          <Note tone="bad" role="alert">
            {start.error.message}
            {running !== undefined && (
              <>
                {'. '}
                <Link href={`/models/runs/${running.id}`} className="underline underline-offset-2">
                  Open the run in progress
                </Link>
              </>
            )}
          </Note>
        </div>
      )}
      <Button
        look="main"
        className="mt-3 min-w-28"
        disabled={!ready || settled !== typed || estimate.data === undefined || start.isPending}
        onClick={() => (estimate.data?.free === true ? start.mutate() : setAsking(true))}
      >
        {start.isPending ? 'Starting …' : 'Run suites'}
      </Button>
      <ConfirmDialog
        open={asking}
        title="This may cost money"
        action="Run suites"
        onClose={() => setAsking(false)}
        onConfirm={() => {
          setAsking(false)
          start.mutate()
        }}
      >
        <Estimate ready={ready} estimate={estimate} />
        <p className="mt-2">The limit is {inMoney(estimate.data?.most.cost ?? 0)}.</p>
      </ConfirmDialog>
    </section>
  )
}

function requestOf(
  models: readonly string[],
  suites: readonly string[],
  { repeat, limit, budget }: Numbers,
  fresh: boolean,
): SuiteRequest {
  return {
    models,
    suites,
    ...(repeat !== '' && { repeat: Number(repeat) }),
    ...(limit !== '' && { limit: Number(limit) }),
    ...(budget !== '' && { budget: Number(budget) }),
    ...(fresh && { fresh }),
  }
}
