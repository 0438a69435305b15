import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { McpServerStatus } from '../../../../src/app/tools/mcp-status.ts'
import type { McpTraffic } from '../../../../src/server/http/views.ts'
import { useMay } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { count, inMoment, inTime } from '../../parts/figures.ts'
import { FilterText } from '../../parts/filter-text.tsx'
import { JsonTree } from '../../parts/json-tree.tsx'
import { Chip, Empty, Failed, Loading, Note } from '../../parts/states.tsx'
import { usePageTitle } from '../../parts/use-page-title.ts'
import { BoxList } from '../../parts/virtual-list.tsx'
import { useAddress } from '../address.ts'
import { serversQuery, useWatched } from './connection-queries.ts'
import { calledTool, draftOf, METHODS, type RequestDraft } from './request-draft.ts'
import { SendRequest } from './send-request.tsx'
import { shownMessages } from './shown-messages.ts'

const trafficQuery = (name: string) =>
  queryOptions({
    queryKey: ['mcp-traffic', name],
    queryFn: ({ signal }) =>
      requestJson<McpTraffic>(`/api/mcp/servers/${encodeURIComponent(name)}/traffic`, { signal }),
  })

/** The messages, requests and stderr of one MCP server. */
export function McpTrafficPage({ name }: { readonly name: string }) {
  usePageTitle(name)
  const mayLook = useMay('installation')
  if (!mayLook) return <Empty title="Your key can’t view messages">It lacks the scope installation.</Empty>
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm wrap-anywhere">
        <Link href="/activity/connections" className="text-accent underline underline-offset-2">
          Connections
        </Link>
        <span className="text-muted"> / {name}</span>
      </nav>
      <h2 className="mt-2 text-xl font-semibold tracking-tight wrap-anywhere">{name}</h2>
      <Traffic name={name} />
    </>
  )
}

function Traffic({ name }: { readonly name: string }) {
  const { data, error, refetch } = useWatched(trafficQuery(name))
  const [address, change] = useAddress()
  const wanted = address.get('method') ?? ''
  const maySend = useMay('call')
  const { data: known } = useQuery(serversQuery)
  const [draft, setDraft] = useState<RequestDraft>()
  if (data === undefined) {
    return error ? (
      <Failed error={error} what="the messages" again={() => void refetch()} />
    ) : (
      <Loading what="the messages" />
    )
  }
  const messages = shownMessages(data.messages, wanted)
  const tools = known?.servers.find((one) => one.name === name)?.tools ?? []
  const begin = (next: RequestDraft) => setDraft({ ...next, key: `${next.key} ${Date.now()}` })
  return (
    <div className="mt-3 grid grid-cols-1 gap-5">
      <div className="flex flex-wrap gap-2">
        {maySend && (
          <Button onClick={() => begin({ key: 'new', method: 'ping', params: METHODS.ping })}>Send a request</Button>
        )}
        <a
          href={`/api/mcp/servers/${encodeURIComponent(name)}/traffic`}
          download={`${name}-messages.json`}
          className="inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk"
        >
          Export as JSON
        </a>
      </div>
      {draft !== undefined && (
        <SendRequest key={draft.key} server={name} draft={draft} onClose={() => setDraft(undefined)} />
      )}
      <section aria-labelledby="messages" className="grid grid-cols-1 gap-2">
        <div className="flex flex-wrap items-center gap-3">
          <h3 id="messages" className="mr-auto font-medium">
            JSON-RPC messages
          </h3>
          <span className="text-sm text-muted tabular-nums">{count(messages.length, 'message')}</span>
          {messages.length > 0 && <CopyButton text={JSON.stringify(messages, null, 2)} label="Copy as JSON" />}
          <div className="w-56 max-sm:w-full">
            <FilterText label="Method" value={wanted} onChange={(method) => change({ method })} />
          </div>
        </div>
        {!data.contents && <Note>The contents of messages are shown only if storage.payloads is all.</Note>}
        {messages.length === 0 && (
          <Empty title={wanted === '' ? 'No messages yet' : 'No matching messages'}>
            {wanted === '' ? 'They appear when the server is connected.' : 'Clear the filter.'}
          </Empty>
        )}
        {messages.length > 0 && (
          <BoxList
            label="Messages"
            items={messages}
            keyOf={({ number }) => String(number)}
            rowPx={36}
            row={(message) => (
              <div className="flex items-start">
                <MessageRow message={message} />
                {maySend && (
                  <div className="shrink-0 pt-1.5 pr-2 text-right md:w-24">
                    <Again message={message} all={data.messages} tools={tools} onDraft={begin} />
                  </div>
                )}
              </div>
            )}
            boxClassName="panel max-h-[32rem]"
            rowClassName="border-b border-line last:border-b-0"
          />
        )}
      </section>
      {data.requests.length > 0 && <Requests requests={data.requests} />}
      <section aria-labelledby="stderr" className="grid grid-cols-1 gap-2">
        <h3 id="stderr" className="font-medium">
          stderr
        </h3>
        {data.stderr === '' ? (
          <p className="text-sm text-muted">Nothing was written, or the server is reached over HTTP.</p>
        ) : (
          <pre className="panel max-h-80 overflow-auto p-3 font-mono text-xs whitespace-pre-wrap" tabIndex={0}>
            {data.stderr}
          </pre>
        )}
      </section>
    </div>
  )
}

type Message = McpTraffic['messages'][number]

interface AgainProps {
  readonly message: Message
  readonly all: McpTraffic['messages']
  readonly tools: McpServerStatus['tools']
  readonly onDraft: (draft: RequestDraft) => void
}

const AGAIN = 'rounded-md px-1 py-0.5 text-xs font-medium whitespace-nowrap text-accent hover:bg-sunk'

/** Sends a request again. A call begins on the page of its tool. */
function Again({ message, all, tools, onDraft }: AgainProps) {
  const call = calledTool(message, tools)
  const label = `#${message.id} ${message.method}`
  if (call !== undefined) {
    return (
      <Link
        href={`/tool/${encodeURIComponent(call.name)}`}
        state={{ params: call.params }}
        aria-label={`Open the tool of ${label}`}
        className={AGAIN}
      >
        Open tool
      </Link>
    )
  }
  const draft = draftOf(message, all)
  if (draft === undefined) return null
  return (
    <button type="button" aria-label={`Send again ${label}`} onClick={() => onDraft(draft)} className={AGAIN}>
      Send again
    </button>
  )
}

const KINDS = { request: 'plain', response: 'good', error: 'bad', notification: 'plain', noise: 'bad' } as const

function MessageRow({ message }: { readonly message: Message }) {
  const [open, setOpen] = useState(false)
  const { direction, kind, method, id, ms, time, content } = message
  return (
    <div className="min-w-0 flex-1">
      <button
        type="button"
        aria-expanded={open}
        disabled={content === undefined}
        onClick={() => setOpen(!open)}
        className="grid w-full grid-cols-[1.25rem_minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1.5 text-left text-sm hover:bg-sunk disabled:cursor-default md:grid-cols-[1.25rem_minmax(0,1fr)_7rem_4rem_5rem_9rem]"
      >
        <span role="img" aria-label={direction} className={direction === 'sent' ? 'text-accent' : 'text-good'}>
          {direction === 'sent' ? '→' : '←'}
        </span>
        <span className="truncate font-mono font-medium">
          {method ?? (kind === 'noise' ? '(not a message)' : '(unknown)')}
        </span>
        <span>
          <Chip tone={KINDS[kind]}>{kind}</Chip>
        </span>
        <span className="truncate text-muted tabular-nums max-md:hidden">{id !== undefined && `#${id}`}</span>
        <span className="text-right tabular-nums max-md:hidden">{ms !== undefined && inTime(ms)}</span>
        <time dateTime={time} className="text-right whitespace-nowrap text-muted tabular-nums max-md:hidden">
          {inMoment(time)}
        </time>
      </button>
      {open && content !== undefined && (
        <div className="overflow-x-auto bg-sunk px-4 py-2">
          <CopyButton text={JSON.stringify(content, null, 2)} look="quiet" />
          <JsonTree value={content} label={`${kind} ${method ?? ''}`} />
        </div>
      )}
    </div>
  )
}

const Requests = ({ requests }: Pick<McpTraffic, 'requests'>) => (
  <section aria-labelledby="network" className="grid grid-cols-1 gap-2">
    <h3 id="network" className="font-medium">
      Network
    </h3>
    <BoxList
      label="Requests"
      items={requests.toReversed()}
      keyOf={({ number }) => String(number)}
      rowPx={33}
      row={({ method, status, ms, time }) => (
        <div className="grid grid-cols-[4rem_minmax(0,1fr)_5rem] gap-x-3 px-3 py-1.5 text-sm tabular-nums md:grid-cols-[4rem_minmax(0,1fr)_5rem_9rem]">
          <span className="font-mono">{method}</span>
          <span className={status === undefined || status >= 400 ? 'text-bad' : ''}>{status ?? 'failed'}</span>
          <span className="text-right">{inTime(ms)}</span>
          <time dateTime={time} className="text-right text-muted max-md:hidden">
            {inMoment(time)}
          </time>
        </div>
      )}
      boxClassName="panel max-h-80"
      rowClassName="border-b border-line last:border-b-0"
    />
  </section>
)
