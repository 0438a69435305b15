import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { callQuery, type ShownCall, useMay } from '../../api/queries.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ValueView } from '../../parts/media.tsx'
import { OutcomeChip } from '../../parts/outcome-chip.tsx'
import { Failed, Loading, Note } from '../../parts/states.tsx'
import { usePageTitle } from '../../parts/use-page-title.ts'
import { SaveTest } from '../../runs/save-test.tsx'
import { CopyMenu } from '../../tools/copy-menu.tsx'
import { useAddress } from '../address.ts'
import { AuditDetails } from '../audit/audit-details.tsx'
import { PAYLOADS } from '../paged-list.tsx'

const ACTION =
  'inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk'

/** One call: its parameters and result, and the way to its run, its tool and its row in the audit log. */
export function CallPage({ id }: { readonly id: string }) {
  usePageTitle('Call')
  const [address] = useAddress()
  const tenant = address.get('tenant') ?? ''
  const { data, error, refetch } = useQuery(callQuery(id, tenant))
  const mayCall = useMay('call')
  if (data === undefined) {
    return error ? <Failed error={error} what="the call" again={() => void refetch()} /> : <Loading what="the call" />
  }
  const { row, payload, run } = data
  const isOwn = tenant === ''
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm wrap-anywhere">
        <Link href="/activity/calls" className="text-accent underline underline-offset-2">
          Calls
        </Link>
        <span className="text-muted"> / {row.tool || row.event}</span>
      </nav>
      <div className="mt-2 flex flex-wrap items-center gap-3">
        <h2 className="font-mono text-xl font-semibold tracking-tight wrap-anywhere">{row.tool || row.event}</h2>
        <OutcomeChip {...row} />
      </div>
      <div className="mt-3 flex flex-wrap gap-2">
        {row.run_id !== null && run && (
          <Link href={`/runs/${row.run_id}`} className={ACTION}>
            Open its run
          </Link>
        )}
        {row.tool !== '' && (
          <Link href={`/tool/${encodeURIComponent(row.tool)}`} className={ACTION}>
            Open its tool
          </Link>
        )}
        {isOwn && mayCall && payload?.params !== undefined && (
          <Link href={`/tool/${encodeURIComponent(row.tool)}?call=${encodeURIComponent(id)}`} className={ACTION}>
            Run again with these
          </Link>
        )}
        <CopyButton text={location.href} label="Copy link" />
        {isOwn && row.event === null && <SaveTest from={{ call_id: id }} />}
      </div>
      <Payload call={data} />
      <section aria-label="Audit row" className="panel mt-4 min-w-0">
        <h3 className="px-4 pt-3 font-medium">Audit row</h3>
        <AuditDetails row={row} />
      </section>
    </>
  )
}

function Payload({ call: { payload, payloads, row } }: { readonly call: ShownCall }) {
  if (row.event !== null) return null
  if (payload === null) {
    return (
      <div className="mt-4">
        <Note>The parameters and the result of this call are not stored. {PAYLOADS[payloads]}</Note>
      </div>
    )
  }
  return (
    <>
      {payload.shortened && (
        <div className="mt-4">
          <Note tone="warn">This call was too long to be stored whole: texts and lists are shortened.</Note>
        </div>
      )}
      <div className="mt-4 grid gap-4 lg:grid-cols-2">
        <Part title="Parameters" value={payload.params}>
          <CopyMenu tool={row.tool} params={payload.params} />
        </Part>
        {payload.error === undefined ? (
          <Part title="Result" value={payload.result} />
        ) : (
          <section aria-label="Error" className="panel min-w-0 border-bad p-4">
            <h3 className="font-medium">Error</h3>
            <p className="mt-2 whitespace-pre-wrap text-bad wrap-anywhere">{payload.error}</p>
          </section>
        )}
      </div>
    </>
  )
}

interface PartProps {
  readonly title: string
  readonly value: unknown
  readonly children?: ReactNode
}

const Part = ({ title, value, children }: PartProps) => (
  <section aria-label={title} className="panel min-w-0 p-4">
    <div className="flex flex-wrap items-center gap-x-2">
      <h3 className="mr-auto font-medium">{title}</h3>
      {value !== undefined && (
        <CopyButton text={JSON.stringify(value, null, 2)} label={`Copy ${title.toLowerCase()}`} look="quiet" />
      )}
      {children}
    </div>
    <div className="mt-2 overflow-x-auto">
      {value === undefined ? (
        <p className="text-muted">They could not be read.</p>
      ) : (
        <ValueView value={value} label={title} />
      )}
    </div>
  </section>
)
