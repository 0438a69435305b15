import { Link } from 'wouter'
import type { LimitsView } from '../../../../src/operations/limits.ts'
import { count, inDate, inMoney, inNumber, inTime } from '../../parts/figures.ts'
import { Code, Section } from '../../parts/section.tsx'
import { Chip, Failed, Loading } from '../../parts/states.tsx'
import { limitsQuery, useWatched } from './connection-queries.ts'
import { Left } from './left.tsx'

const CIRCUITS = {
  closed: { tone: 'good', words: 'closed' },
  half_open: { tone: 'warn', words: 'half open' },
  open: { tone: 'bad', words: 'open' },
} as const

/** Limits and circuit breakers, with their current state. */
export function Limits() {
  const { data, error, refetch } = useWatched(limitsQuery)
  if (data === undefined) {
    return error ? (
      <Failed error={error} what="the limits" again={() => void refetch()} />
    ) : (
      <Loading what="the limits" />
    )
  }
  return (
    <>
      <Section
        title="Circuit breakers"
        about="A breaker opens when the service behind an HTTP tool fails several times in a row. The service is then not called for a while, and tried once after that."
      >
        <Circuits circuits={data.circuits} />
      </Section>
      <Section title="Limits in use" about="As counted by this server. Viewing them does not use them up.">
        <InUse limits={data} />
      </Section>
      <Section title="Configured limits" about="To change a limit, edit its path in the configuration file.">
        <Configured limits={data} />
      </Section>
    </>
  )
}

function Circuits({ circuits }: Pick<LimitsView, 'circuits'>) {
  if (circuits.length === 0) {
    return <p className="text-sm text-muted">No circuit breakers yet. An HTTP tool gets one with its first call.</p>
  }
  return (
    <ul aria-label="Circuit breakers" className="panel divide-y divide-line">
      {circuits.map(({ tool, state, failures, since, retry_in_ms: wait }) => (
        <li key={tool} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
          <ToolLink name={tool} />
          <Chip tone={CIRCUITS[state].tone}>{CIRCUITS[state].words}</Chip>
          <span>{failures === 0 ? 'no failures' : `${count(failures, 'failure')} in a row`}</span>
          {since !== undefined && <span className="text-muted">since {inDate(since)}</span>}
          {wait !== undefined && (
            <span>
              {wait > 0 ? `retries in ${inTime(Math.ceil(wait / 1_000) * 1_000)}` : 'retries with the next call'}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function InUse({ limits: { callers, tools } }: { readonly limits: LimitsView }) {
  if (callers.length + tools.length === 0) {
    return (
      <p className="text-sm text-muted">
        No rate limits. Set <Code>limits.calls_per_minute</Code> in the configuration, a limit of a key, or{' '}
        <Code>rate_limit</Code> of a tool.
      </p>
    )
  }
  return (
    <ul aria-label="Limits in use" className="panel divide-y divide-line">
      {callers.map(({ id, name, tenant, calls, per_ms, remaining, retry_in_ms: wait, set_by }) => (
        <li key={`caller ${id}`} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
          <span className="font-medium break-all">{name}</span>
          <span className="text-muted">caller of {tenant}</span>
          <Left label={`Remaining calls of ${name}`} calls={calls} perMs={per_ms} remaining={remaining} />
          {wait !== undefined && <span>next call in {inTime(Math.ceil(wait / 1_000) * 1_000)}</span>}
          <span className="text-muted">set by {set_by === 'key' ? 'its key' : 'the configuration'}</span>
        </li>
      ))}
      {tools.map(({ tool, rate_limit: rate, concurrency }) => (
        <li key={`tool ${tool}`} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
          <ToolLink name={tool} />
          <span className="text-muted">tool</span>
          {rate !== undefined && (
            <Left
              label={`Remaining calls of ${tool} for your tenant`}
              calls={rate.calls}
              perMs={rate.per_ms}
              remaining={rate.remaining}
            />
          )}
          {concurrency !== undefined && (
            <span>
              {concurrency.running} of {concurrency.most} at a time running
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function Configured({ limits: { configured, budgets } }: { readonly limits: LimitsView }) {
  return (
    <dl className="panel divide-y divide-line text-sm">
      {configured.map(({ path, value, description }) => (
        <div key={path} className="grid grid-cols-1 gap-x-4 px-4 py-2.5 sm:grid-cols-[16rem_8rem_1fr]">
          <dt className="font-mono break-all">{path}</dt>
          <dd className={`tabular-nums ${value === null ? 'text-muted' : 'font-medium'}`}>
            {value === null ? 'not set' : inNumber(value)}
          </dd>
          <dd className="text-muted">{description}</dd>
        </div>
      ))}
      {budgets.map(({ path, model, tokens, cost, wall_time_ms: time }) => (
        <div key={path} className="grid grid-cols-1 gap-x-4 px-4 py-2.5 sm:grid-cols-[16rem_8rem_1fr]">
          <dt className="font-mono break-all">{path}</dt>
          <dd className="font-medium">
            {[
              ...(tokens === undefined ? [] : [`${inNumber(tokens)} tokens`]),
              ...(cost === undefined ? [] : [inMoney(cost)]),
              ...(time === undefined ? [] : [inTime(time)]),
            ].join(', ')}
          </dd>
          <dd className="text-muted">The budget of one run of {model}.</dd>
        </div>
      ))}
    </dl>
  )
}

const ToolLink = ({ name }: { readonly name: string }) => (
  <Link href={`/tool/${encodeURIComponent(name)}`} className="font-mono break-all text-accent underline">
    {name}
  </Link>
)
