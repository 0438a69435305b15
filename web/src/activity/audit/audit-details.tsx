import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { ShownRow } from '../../../../src/server/http/views.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { count, inTime } from '../../parts/figures.ts'
import { useAddress } from '../address.ts'
import { EVENTS, OUTCOMES } from './audit-view.ts'

const LINK = 'text-accent underline underline-offset-2 wrap-anywhere'

interface RowProps {
  readonly row: ShownRow
}

/** All recorded fields of one call or event. */
export const AuditDetails = ({ row }: RowProps) => (row.event === null ? <Call row={row} /> : <Event row={row} />)

const Event = ({ row }: RowProps) => (
  <div className="grid grid-cols-1 gap-3 px-4 py-3">
    <p>
      {EVENTS[row.event ?? ''] ?? row.event}
      {row.attempts > 1 && ` It happened ${row.attempts} times.`}
    </p>
    <dl className={FACTS}>
      {row.subject !== null && <Fact name="Subject">{row.subject}</Fact>}
      <Fact name="Time">
        <time dateTime={row.time}>{row.time}</time>
      </Fact>
      <Caller row={row} />
      {row.detail !== null && (
        <Fact name="Details">
          <Code>{row.detail}</Code>
        </Fact>
      )}
      {row.params_hash !== null && (
        <Fact name="Hash of its content">
          <Code>{row.params_hash}</Code>
        </Fact>
      )}
      <OtherColumns row={row} />
      <Place row={row} />
    </dl>
    <div>
      <CopyButton text={JSON.stringify(row, null, 2)} label="Copy as JSON" />
    </div>
  </div>
)

const FACTS = 'grid grid-cols-1 gap-x-4 gap-y-1.5 md:grid-cols-[9rem_minmax(0,1fr)]'

const Caller = ({ row }: RowProps) => (
  <Fact name="Caller">
    {row.caller_name ?? 'nobody'}
    {row.caller !== row.caller_name && ` (${row.caller})`}
    {row.source !== null && `, through ${row.source}`}, of the tenant {row.tenant}
    {row.caller !== null && <Same name="caller" value={row.caller} what="this caller" />}
  </Fact>
)

/** Columns that the details describe in words, or leave to `Copy as JSON`. */
const DESCRIBED: ReadonlySet<string> = new Set(
  [
    'id time tenant caller caller_name source run_id tool model schema_hash version cost key params_hash outcome',
    'error_code duration_ms attempts event subject detail hash',
  ].flatMap((names) => names.split(' ')),
)

const OtherColumns = ({ row }: RowProps) =>
  Object.entries(row)
    .filter(([name, value]) => !DESCRIBED.has(name) && value !== null)
    .map(([name, value]) => (
      <Fact key={name} name={name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())}>
        {String(value)}
      </Fact>
    ))

const Place = ({ row }: RowProps) => (
  <>
    <Fact name="Row">
      <Code>{row.id}</Code>
    </Fact>
    <Fact name="Hash of the row">
      <Code>{row.hash}</Code>
    </Fact>
  </>
)

const Call = ({ row }: RowProps) => (
  <div className="grid grid-cols-1 gap-3 px-4 py-3">
    <p>
      {OUTCOMES[row.outcome]} It took {inTime(row.duration_ms)}
      {row.attempts === 0 ? ', and the tool did not run.' : `, in ${count(row.attempts, 'attempt')}.`}
    </p>
    <dl className={FACTS}>
      <Fact name="Tool">
        <Link href={`/tool/${encodeURIComponent(row.tool)}`} className={LINK}>
          {row.tool}
        </Link>
        <Same name="tool" value={row.tool} what="this tool" />
      </Fact>
      {row.error_code !== null && <Fact name="Error">{row.error_code}</Fact>}
      <Fact name="Began">
        <time dateTime={row.time}>{row.time}</time>
      </Fact>
      <Caller row={row} />
      {row.run_id !== null && (
        <Fact name="Run">
          <Link href={`/runs/${encodeURIComponent(row.run_id)}`} className={LINK}>
            {row.run_id}
          </Link>
          <Same name="run_id" value={row.run_id} what="this run" />
        </Fact>
      )}
      {row.key !== null && <Fact name="API key">{row.key}</Fact>}
      <Fact name="Cost">{row.cost === null ? 'unknown' : row.cost}</Fact>
      <Fact name="Parameters">{row.params_hash === null ? 'not readable' : <Code>{row.params_hash}</Code>}</Fact>
      <Fact name="Definition">{row.schema_hash === null ? 'none' : <Code>{row.schema_hash}</Code>}</Fact>
      <OtherColumns row={row} />
      <Place row={row} />
    </dl>
    <p className="text-muted">
      The audit log has hashes of the parameters and the definition. Equal parameters have equal hashes.
    </p>
    <div className="flex flex-wrap items-center gap-3">
      <OpenCall row={row} />
      <CopyButton text={JSON.stringify(row, null, 2)} label="Copy as JSON" />
    </div>
  </div>
)

/** Not shown on the page that it leads to. */
function OpenCall({ row }: RowProps) {
  const [location] = useLocation()
  const [params] = useAddress()
  if (location.startsWith('/activity/calls/')) return null
  const tenant = params.get('tenant')
  const query = tenant ? `?tenant=${encodeURIComponent(tenant)}` : ''
  return (
    <Link href={`/activity/calls/${encodeURIComponent(row.id)}${query}`} className={LINK}>
      Parameters and result
    </Link>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div className="contents">
    <dt className="text-muted max-md:mt-1">{name}</dt>
    <dd className="min-w-0 break-words">{children}</dd>
  </div>
)

const Code = ({ children }: { readonly children: string }) => (
  <code className="font-mono text-xs break-all">{children}</code>
)

interface SameProps {
  readonly name: string
  readonly value: string
  readonly what: string
}

/** A link to all calls with the same value, for the selected tenants. */
function Same({ name, value, what }: SameProps) {
  const [params] = useAddress()
  const tenant = params.get('tenant')
  const same = new URLSearchParams({ [name]: value, ...(tenant && { tenant }) })
  return (
    <>
      {' · '}
      <Link href={`/activity?${same}`} className={LINK}>
        all calls of {what}
      </Link>
    </>
  )
}
