import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { modelsQuery, useMay } from '../api/queries.ts'
import { AddLink } from '../parts/add-link.tsx'
import { Empty, Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { ModelRecord } from './model-record.tsx'
import { SuitePanel } from './suites/suite-panel.tsx'
import { SuiteRunList } from './suites/suite-run-list.tsx'
import { ToolMatrix } from './tool-matrix.tsx'

/** Models, their test results, and results by tool. */
export function ModelsPage() {
  usePageTitle('Models')
  const { data: models, error, refetch } = useQuery(modelsQuery)
  const mayObserve = useMay('observe')
  const mayRun = useMay('validate') && mayObserve
  if (error && models === undefined) return <Failed error={error} what="the models" again={() => void refetch()} />
  if (models === undefined) return <Loading what="the models" />
  const doubtful = models.filter(({ validation, reason }) => !validation.validated && reason === undefined)
  return (
    <div className="grid grid-cols-1 gap-6">
      <div>
        <div className="flex flex-wrap items-center justify-between gap-x-3">
          <h1 className="text-2xl font-semibold tracking-tight">Models</h1>
          <AddLink href="/setup/model">Add a model</AddLink>
        </div>
        <p className="mt-1 max-w-prose text-muted">
          A model is validated if it passes at least 80 % of its tests. Its badge is green after 10 tests. Test a model
          on{' '}
          <Link href="/tools-testing" className="text-accent underline">
            Testing
          </Link>
          , or run a suite below.
        </p>
      </div>
      {doubtful.length > 0 && (
        <Note tone="warn" role="status">
          Not validated on this server yet: {doubtful.map(({ name }) => name).join(', ')}.
        </Note>
      )}
      {models.length === 0 && (
        <Empty title="No models" action={{ label: 'Add a model', href: '/setup/model' }}>
          Choose a provider, and name a model.
        </Empty>
      )}
      <ul aria-label="Models" className="grid grid-cols-1 gap-3">
        {models.map((model) => (
          <ModelRecord key={model.id} model={model} />
        ))}
      </ul>
      {mayRun && models.length > 0 && <SuitePanel models={models} />}
      {mayObserve && <SuiteRunList />}
      <ToolMatrix />
    </div>
  )
}
