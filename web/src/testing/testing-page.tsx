import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { Link, useSearch } from 'wouter'
import { modelsQuery, useMay } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { AvailableTools } from './available-tools.tsx'
import { EXAMPLES } from './examples.ts'
import { ModelChoices } from './model-choices.tsx'
import { TestResults } from './test-results.tsx'
import { useTestRun } from './use-test-run.ts'

const MISSING = 'Please enter a test query and select a model'
const MOST_MODELS = 3

/** Tests models with a query and all tools. */
export function TestingPage() {
  usePageTitle('Testing')
  const models = useQuery(modelsQuery)
  const mayChat = useMay('chat')
  // Values from the URL.
  const [given] = useState(new URLSearchParams(useSearch()))
  const [query, setQuery] = useState(given.get('query') ?? '')
  const [picked, setPicked] = useState<readonly (string | null)[]>([given.get('model')])
  const before = given.get('run') ?? undefined
  const [missing, setMissing] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const results = useRef<HTMLElement>(null)
  // Hooks can't be in a loop: one per slot, up to MOST_MODELS.
  const runs = [
    { place: 'first', ...useTestRun() },
    { place: 'second', ...useTestRun() },
    { place: 'third', ...useTestRun() },
  ]
  // Preselect the only available model.
  const usable = models.data?.filter(({ reason }) => reason === undefined)
  const only = usable?.length === 1 ? (usable[0]?.id ?? null) : null
  const unusable = new Set(models.data?.filter((model) => !usable?.includes(model)).map(({ id }) => id))
  const chosen = picked.map((id, index) => (unusable.has(id ?? '') ? null : id) ?? (index === 0 ? only : null))
  const running = runs.some(({ run }) => run?.status === 'running')
  const shown = runs.filter(({ run }) => run !== undefined)
  const start = () => {
    const ids = chosen.filter((id) => id !== null)
    setMissing(query.trim() === '' || ids.length === 0)
    if (query.trim() === '' || ids.length === 0) return
    for (const [index, { start, clear }] of runs.entries()) {
      const id = chosen[index] ?? null
      if (id === null) clear()
      else void start(id, query.trim())
    }
    results.current?.scrollIntoView({ block: 'start' })
  }
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">Testing</h1>
      <p className="mt-1 text-muted">
        Find out which models can use your tools: ask, watch the calls, and record the result.
      </p>
      <div className="mt-5 grid items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="grid min-w-0 grid-cols-1 gap-4">
          <section aria-labelledby="test" className="panel min-w-0 p-4">
            <h2 id="test" className="text-lg font-semibold">
              Test Tool Calling
            </h2>
            <div className="mt-3 grid grid-cols-1 gap-4">
              {models.data === undefined ? (
                models.error ? (
                  <Failed error={models.error} what="the models" again={() => void models.refetch()} />
                ) : (
                  <Loading what="the models" />
                )
              ) : (
                <ModelChoices models={models.data} chosen={chosen} onChange={setPicked} most={MOST_MODELS} />
              )}
              <div>
                <label htmlFor="query" className="block text-sm font-medium">
                  Test Query
                </label>
                <textarea
                  id="query"
                  ref={field}
                  rows={3}
                  className="field mt-1 resize-y"
                  placeholder="Ask something that needs a tool"
                  value={query}
                  onChange={(event) => setQuery(event.target.value)}
                  onKeyDown={(event) => {
                    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !running) start()
                  }}
                />
              </div>
              {before !== undefined && (
                <Note>
                  This is the query of{' '}
                  <Link href={`/runs/${before}`} className="underline">
                    a run
                  </Link>
                  . Run Test asks it again, with the same or another model, runs the tools, and compares the calls.
                </Note>
              )}
              {missing && (
                <Note tone="bad" role="alert">
                  {MISSING}
                </Note>
              )}
              <div className="flex items-center gap-3">
                <Button look="main" className="min-w-28" disabled={running || !mayChat} onClick={start}>
                  {running ? 'Running …' : 'Run Test'}
                </Button>
                {mayChat || <span className="text-sm text-muted">Your key can’t ask models.</span>}
              </div>
            </div>
          </section>
          <section aria-labelledby="examples" className="panel min-w-0 p-4">
            <h2 id="examples" className="text-lg font-semibold">
              Example Test Queries
            </h2>
            <ul className="mt-3 grid gap-2 sm:grid-cols-2">
              {EXAMPLES.map(({ title, query: example, expected }) => (
                <li key={title}>
                  <button
                    type="button"
                    className="flex h-full w-full flex-col rounded-lg border border-line p-3 text-left hover:border-edge hover:bg-sunk"
                    onClick={() => {
                      setQuery(example)
                      setMissing(false)
                      field.current?.focus()
                    }}
                  >
                    <span className="block text-sm font-medium">{title}</span>
                    <span className="mt-0.5 block text-sm">“{example}”</span>
                    <span className="mt-1 block text-xs text-muted">Expected: {expected}</span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        </div>
        <AvailableTools />
      </div>
      <section ref={results} aria-labelledby="results" className="mt-6 min-h-[calc(100dvh-4rem)] scroll-mt-16">
        <h2 id="results" className="text-lg font-semibold">
          Test Results
        </h2>
        {shown.length === 0 ? (
          <p className="mt-2 text-muted">Run a test to see the calls and the answer here.</p>
        ) : (
          <div className="mt-3 grid grid-cols-1 items-start gap-4 lg:auto-cols-fr lg:grid-flow-col lg:grid-cols-none">
            {shown.map(({ place, run, cancel }) =>
              run === undefined ? null : (
                <TestResults
                  key={place}
                  run={run}
                  model={models.data?.find(({ id }) => id === run.model)}
                  cancel={cancel}
                  before={before}
                />
              ),
            )}
          </div>
        )}
      </section>
    </>
  )
}
