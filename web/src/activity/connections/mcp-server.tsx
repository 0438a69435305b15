import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Link } from 'wouter'
import type { McpServerStatus } from '../../../../src/app/tools/mcp-status.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { count, inDate, inTime } from '../../parts/figures.ts'
import { lazyPart } from '../../parts/lazy-part.ts'
import { Code } from '../../parts/section.tsx'
import { Chip, Note } from '../../parts/states.tsx'
import { serversQuery } from './connection-queries.ts'

const STATES = {
  connected: { tone: 'good', words: 'connected' },
  connecting: { tone: 'warn', words: 'connecting' },
  not_reachable: { tone: 'bad', words: 'not reachable' },
  left_out: { tone: 'bad', words: 'left out' },
  disabled: { tone: 'plain', words: 'disabled' },
  idle: { tone: 'plain', words: 'not used' },
} as const

const TRANSPORTS = { stdio: 'a program, over stdio', http: 'streamable HTTP', sse: 'HTTP with SSE' } as const

const RemovePart = lazyPart(async () => (await import('../../setup/remove-part.tsx')).RemovePart)

interface McpServerProps {
  readonly server: McpServerStatus
  readonly mayReconnect: boolean
}

/** An MCP server with its state, tools and stderr. */
export function McpServer({ server, mayReconnect }: McpServerProps) {
  const { name, place, state, transport, problem, problem_at, check, stderr } = server
  const { tone, words } = STATES[state]
  const used = transport !== undefined && state !== 'idle'
  return (
    <li className="panel grid grid-cols-1 gap-2 p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h3 className="font-semibold break-all">{name}</h3>
        <Chip tone={tone}>{words}</Chip>
        {transport !== undefined && <span className="text-sm text-muted">{TRANSPORTS[transport]}</span>}
        {mayReconnect && used && <Reconnect server={server} />}
      </div>
      <p className="text-sm">{standing(server)}</p>
      {problem !== undefined && (
        <p className={`text-sm break-words ${state === 'connected' ? 'text-muted' : ''}`}>
          <span className="font-medium">{state === 'left_out' ? 'Problem: ' : 'Last error: '}</span>
          {problem}
          {problem_at !== undefined && <span className="text-muted"> ({inDate(problem_at)})</span>}
        </p>
      )}
      {check !== undefined && (
        <p className="text-sm break-words">
          <span className="font-medium">Check: </span>
          {check}
        </p>
      )}
      <Tools server={server} />
      {server.waiting !== undefined && <Waiting server={server} waiting={server.waiting} />}
      {stderr !== undefined && (
        <details open={state !== 'connected'}>
          <summary className="text-sm font-medium">Last lines of stderr</summary>
          <section
            aria-label={`stderr of ${name}`}
            tabIndex={0}
            className="mt-2 max-h-64 overflow-auto rounded-lg bg-sunk p-3"
          >
            <pre className="font-mono text-xs break-words whitespace-pre-wrap">{stderr}</pre>
          </section>
        </details>
      )}
      <p className="text-xs text-muted">
        Configured at <Code>{place}</Code>
        {mayReconnect && transport !== undefined && (
          <>
            {' · '}
            <Link
              href={`/activity/connections/${encodeURIComponent(name)}`}
              className="text-accent underline underline-offset-2"
            >
              Messages and network of {name}
            </Link>
          </>
        )}
      </p>
      {mayReconnect && (
        <Suspense fallback={null}>
          <RemovePart removal={{ kind: 'remove_mcp_server', name }} />
        </Suspense>
      )}
    </li>
  )
}

/** The state of the connection, in one or two sentences. */
function standing({ state, attempts = 0, since, next_attempt_in_ms: next }: McpServerStatus): string {
  const when = since === undefined ? '' : inDate(since)
  if (state === 'connected') return `Since ${when}, on ${attempts <= 1 ? 'the first attempt' : `attempt ${attempts}`}.`
  if (state === 'left_out') return 'Fix the problem and restart the server to connect.'
  if (state === 'disabled') return 'Disabled in the configuration.'
  if (state === 'idle') return 'Tools are disabled in the configuration, so MCP servers are not used.'
  const lost = since === undefined ? 'Not connected yet.' : `Connection lost at ${when}.`
  if (state === 'connecting') return `${lost} Attempt ${Math.max(1, attempts)} is running.`
  const again = next === undefined ? '' : ` The next one is in ${inTime(Math.ceil(next / 1_000) * 1_000)}.`
  return `${lost} ${count(attempts, 'attempt')} failed.${again}`
}

function Tools({ server: { name, tools, state } }: { readonly server: McpServerStatus }) {
  if (tools.length === 0) return state === 'connected' ? <p className="text-sm text-muted">It has no tools.</p> : null
  return (
    <details>
      <summary className="text-sm font-medium">{count(tools.length, 'tool')}</summary>
      <ul aria-label={`Tools of ${name}`} className="mt-2 flex flex-wrap gap-x-4 gap-y-1.5 text-sm">
        {tools.map((tool) => (
          <li key={tool.name}>
            <Link href={`/tool/${encodeURIComponent(tool.name)}`} className="font-mono break-all text-accent underline">
              {tool.name}
            </Link>
            {tool.tool !== tool.name && <span className="text-muted"> (on the server: {tool.tool})</span>}
          </li>
        ))}
      </ul>
    </details>
  )
}

type Change = NonNullable<McpServerStatus['waiting']>[number]

/** New and changed tools of a pinned server, with a button to approve them. */
function Waiting({
  server: { name },
  waiting,
}: {
  readonly server: McpServerStatus
  readonly waiting: readonly Change[]
}) {
  const client = useQueryClient()
  const approve = useMutation({
    mutationFn: () =>
      requestJson<McpServerStatus>(`/api/mcp/servers/${encodeURIComponent(name)}/approve`, {
        method: 'POST',
        body: { fingerprints: waiting.map(({ fingerprint }) => fingerprint) },
      }),
    onSettled: () =>
      Promise.all([serversQuery.queryKey, ['tools']].map((queryKey) => client.invalidateQueries({ queryKey }))),
  })
  return (
    <section
      aria-label={`Waiting tools of ${name}`}
      className="grid grid-cols-1 gap-2 rounded-lg border border-warn p-3"
    >
      <p className="text-sm font-medium">Rejected until you approve: the server has changed since it was pinned.</p>
      <ul className="grid grid-cols-1 gap-2 text-sm">
        {waiting.map(({ tool, change, parts, version, description }) => (
          <li key={tool}>
            <span className="font-mono break-all">{tool}</span>{' '}
            <span className="text-muted">
              {version}, {change}
              {parts === undefined ? '' : `: ${parts.join(' and ')}`}
            </span>
            <p className="whitespace-pre-line wrap-anywhere">{description}</p>
          </li>
        ))}
      </ul>
      <Button className="justify-self-start" disabled={approve.isPending} onClick={() => approve.mutate()}>
        Approve
      </Button>
      {approve.error && (
        <Note tone="bad" role="alert">
          {approve.error.message}
        </Note>
      )}
    </section>
  )
}

function Reconnect({ server: { name, state } }: { readonly server: McpServerStatus }) {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const reconnect = useMutation({
    mutationFn: () =>
      requestJson<McpServerStatus>(`/api/mcp/servers/${encodeURIComponent(name)}/reconnect`, {
        method: 'POST',
        body: {},
      }),
    onSuccess: async (now) => {
      await client.cancelQueries({ queryKey: serversQuery.queryKey })
      client.setQueryData(serversQuery.queryKey, (before) =>
        before === undefined
          ? undefined
          : { servers: before.servers.map((server) => (server.name === now.name ? now : server)) },
      )
      void client.invalidateQueries({ queryKey: ['tools'] })
    },
  })
  const start = () => {
    setAsking(false)
    reconnect.mutate()
  }
  return (
    <>
      <Button
        className="ml-auto"
        aria-label={`Reconnect ${name}`}
        disabled={reconnect.isPending}
        onClick={() => (state === 'connected' ? setAsking(true) : start())}
      >
        {reconnect.isPending ? 'Reconnecting …' : 'Reconnect'}
      </Button>
      {reconnect.error && (
        <div className="w-full">
          <Note tone="bad" role="alert">
            {reconnect.error.message}
          </Note>
        </div>
      )}
      <ConfirmDialog
        open={asking}
        title={`Reconnect ${name}?`}
        action="Reconnect"
        onConfirm={start}
        onClose={() => setAsking(false)}
      >
        The server is connected. Its running calls will fail.
      </ConfirmDialog>
    </>
  )
}
