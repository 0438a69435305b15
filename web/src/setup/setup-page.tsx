import { useQuery } from '@tanstack/react-query'
import { type ComponentType, Fragment, type ReactNode, Suspense } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/queries.ts'
import { lazyPart } from '../parts/lazy-part.ts'
import { Code } from '../parts/section.tsx'
import { Chip, Empty, Failed, Loading } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { JobCards } from './job-cards.tsx'
import type { JobProps } from './job-frame.tsx'
import { JOBS, type Job } from './jobs.ts'
import { type SetupState, setupQuery } from './setup-queries.ts'

const PARTS: Readonly<Record<Job['id'], ComponentType<JobProps>>> = {
  mcp: lazyPart<JobProps>(async () => (await import('./mcp-job.tsx')).McpJob),
  curl: lazyPart<JobProps>(async () => (await import('./curl-job.tsx')).CurlJob),
  openapi: lazyPart<JobProps>(async () => (await import('./openapi-job.tsx')).OpenapiJob),
  model: lazyPart<JobProps>(async () => (await import('./model-job.tsx')).ModelJob),
  knowledge: lazyPart<JobProps>(async () => (await import('./knowledge-job.tsx')).KnowledgeJob),
}

/** Adds tools, models and knowledge without editing the configuration file. */
export function SetupPage({ job: id }: { readonly job?: string | undefined }) {
  const job = JOBS.find((one) => one.id === id)
  const title = job?.title ?? (id === undefined ? 'Add tools, models and knowledge' : 'Page not found')
  usePageTitle(title)
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
      <p className="mt-1 max-w-prose text-muted">
        {job?.about ?? 'Each form shows the change to the configuration before the server writes it.'}
      </p>
      {job === undefined ? (
        <div className="mt-4 grid grid-cols-1 gap-4">
          <JobCards />
          <Allowed>{(setup) => <ThisServer setup={setup} />}</Allowed>
        </div>
      ) : (
        <>
          <Tabs current={job.id} />
          <Allowed key={job.id}>{(setup) => <JobPart id={job.id} setup={setup} />}</Allowed>
        </>
      )}
    </>
  )
}

const Tabs = ({ current }: { readonly current: Job['id'] }) => (
  <nav aria-label="What to add" className="my-4 flex flex-wrap gap-1 border-b border-line pb-2">
    {JOBS.map(({ id, short }) => (
      <Link
        key={id}
        href={`/setup/${id}`}
        aria-current={id === current ? 'page' : undefined}
        className="rounded-lg px-2.5 py-1.5 text-sm font-medium text-muted hover:bg-sunk hover:text-ink aria-[current]:bg-sunk aria-[current]:text-ink"
      >
        {short}
      </Link>
    ))}
  </nav>
)

function JobPart({ id, setup }: JobProps & Pick<Job, 'id'>) {
  const Part = PARTS[id]
  return (
    <Suspense fallback={<Loading what="the form" />}>
      <Part setup={setup} />
    </Suspense>
  )
}

/** Asks the server what it can change, if the caller may know. */
function Allowed({ children }: { readonly children: (setup: SetupState) => ReactNode }) {
  const may = useMay('installation')
  const { data: setup, error, refetch } = useQuery({ ...setupQuery, enabled: may })
  if (!may) {
    return (
      <Empty title="Your key can’t change the configuration">
        It lacks the scope <Code>installation</Code>. Sign in with a key that has it, or create one on the server:{' '}
        <Code>npx toolyard keys create --role admin --all-tenants</Code>
      </Empty>
    )
  }
  if (setup !== undefined) return children(setup)
  return error ? <Failed error={error} what="the form" again={() => void refetch()} /> : <Loading what="the form" />
}

/** What this server can write, store and start. */
function ThisServer({ setup: { file, creates, writable, reason, secrets, commands } }: JobProps) {
  const rows = [
    {
      what: 'Configuration',
      good: writable,
      text: writable
        ? `${file ?? 'The file'} ${creates ? 'is created by the first change' : 'is written, with a backup'}.`
        : `${reason ?? 'The file can’t be written.'} Changes are shown to copy.`,
    },
    {
      what: 'Secrets',
      good: secrets.enabled,
      text: secrets.enabled ? 'Keys are stored encrypted, not in the file.' : (secrets.reason ?? 'Not stored.'),
    },
    {
      what: 'Commands',
      good: commands.allowed,
      text: commands.allowed
        ? 'MCP servers may be programs that this server starts.'
        : (commands.reason ?? 'Not allowed.'),
    },
  ]
  return (
    <section aria-labelledby="this-server" className="panel p-4">
      <h2 id="this-server" className="font-semibold">
        This server
      </h2>
      <dl className="mt-2 grid grid-cols-1 gap-x-4 gap-y-2 text-sm sm:grid-cols-[8rem_1fr]">
        {rows.map(({ what, good, text }) => (
          <Fragment key={what}>
            <dt className="font-medium">{what}</dt>
            <dd className="flex flex-wrap items-baseline gap-x-2 wrap-anywhere">
              <Chip tone={good ? 'good' : 'warn'}>{good ? 'yes' : 'no'}</Chip>
              <span className="min-w-0">{text}</span>
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}
