import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useSearchParams } from 'wouter'
import type { ConnectionView } from '../../../src/app/connections/connections.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { inDate } from '../parts/figures.ts'
import { PENDING_LINK } from '../parts/pending-link.ts'
import { Section } from '../parts/section.tsx'
import { Chip, Failed, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'

const connectionsQuery = queryOptions({
  queryKey: ['connections'],
  queryFn: ({ signal }) => requestJson<{ connections: ConnectionView[] }>('/api/connections', { signal }),
  select: ({ connections }) => connections,
})

const STATUS = {
  connected: { text: 'connected', tone: 'good' },
  broken: { text: 'connect again', tone: 'bad' },
  none: { text: 'not connected', tone: 'plain' },
} as const

/** Sends the browser to the provider. */
function useConnect() {
  return useMutation({
    mutationFn: (body: { readonly provider: string } | { readonly link: string }) =>
      requestJson<{ url: string }>('/api/connections', { method: 'POST', body }),
    onSuccess: ({ url }) => window.location.assign(url),
  })
}

/** Where a provider has sent the browser back to, with its answer. */
const RETURNED = /^#connection=([^&]*)&answer=([^&]*)$/

/** Sends the answer of a provider to the server, as the signed-in user. Another user has not asked for it. */
function useReturned() {
  const client = useQueryClient()
  const { mutate, isSuccess, error } = useMutation({
    mutationFn: ({ provider, answer }: { readonly provider: string; readonly answer: string }) =>
      requestJson(`/api/connections/${provider}/answer`, {
        method: 'POST',
        body: { answer: decodeURIComponent(answer) },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: connectionsQuery.queryKey }),
  })
  useEffect(() => {
    const { hash, pathname, search } = window.location
    const [, provider, answer] = RETURNED.exec(hash) ?? []
    if (provider === undefined || answer === undefined) return
    window.history.replaceState(null, '', pathname + search)
    mutate({ provider, answer })
  }, [mutate])
  return { isConnected: isSuccess, error }
}

/** The accounts of the user at OAuth providers; nothing if none is configured. */
export function Connections() {
  const client = useQueryClient()
  const { data: connections = [], error, refetch } = useQuery(connectionsQuery)
  const returned = useReturned()
  const connect = useConnect()
  const revoke = useMutation({
    mutationFn: (provider: string) =>
      requestJson<{ revoked: boolean }>(`/api/connections/${encodeURIComponent(provider)}`, { method: 'DELETE' }),
    onSuccess: () => client.invalidateQueries({ queryKey: connectionsQuery.queryKey }),
  })
  const isPending = connect.isPending || revoke.isPending
  const problem = connect.error ?? revoke.error ?? returned.error
  if (connections.length === 0 && !error) return null
  return (
    <Section title="Connections" about="Tools call these services with your account. Other users can’t use it.">
      {returned.isConnected && (
        <Note tone="good" role="status">
          The account is connected.
        </Note>
      )}
      {problem && (
        <Note tone="bad" role="alert">
          {problem.message}
        </Note>
      )}
      {error && <Failed error={error} what="your connections" again={() => void refetch()} />}
      <ul aria-label="Connections" className="panel divide-y divide-line">
        {connections.map(({ provider, title, status, scopes, connected_at }) => (
          <li key={provider} className="grid grid-cols-1 gap-1.5 px-4 py-3 text-sm">
            <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
              <span className="font-medium wrap-anywhere">{title}</span>
              <Chip tone={STATUS[status].tone}>{STATUS[status].text}</Chip>
              <span className="ml-auto flex flex-wrap gap-2">
                {status !== 'connected' && (
                  <Button
                    aria-label={`Connect ${title}`}
                    disabled={isPending}
                    onClick={() => connect.mutate({ provider })}
                  >
                    Connect
                  </Button>
                )}
                {status !== 'none' && (
                  <Button
                    look="danger"
                    aria-label={`Revoke ${title}`}
                    disabled={isPending}
                    onClick={() => revoke.mutate(provider)}
                  >
                    Revoke
                  </Button>
                )}
              </span>
            </div>
            {connected_at !== null && (
              <p className="text-muted">
                Since {inDate(connected_at)}
                {scopes.length > 0 && (
                  <>
                    , with access to <span className="font-mono text-xs wrap-anywhere">{scopes.join(' ')}</span>
                  </>
                )}
              </p>
            )}
          </li>
        ))}
      </ul>
      {revoke.data?.revoked === false && (
        <Note>The tokens are deleted here. To be sure, end the access at the provider, too.</Note>
      )}
    </Section>
  )
}

/** Where the connect URL of a call leads. A click is needed, so that no other website can start it. */
export function ConnectPage() {
  usePageTitle('Connect an account')
  const [search] = useSearchParams()
  const link = search.get('link') ?? ''
  useEffect(() => sessionStorage.removeItem(PENDING_LINK), [])
  const connect = useConnect()
  return (
    <div className="grid max-w-prose grid-cols-1 justify-items-start gap-4">
      <h1 className="text-2xl font-semibold tracking-tight">Connect an account</h1>
      <p className="text-muted">
        A tool that you called needs your account at another service. Continue there to allow the access. You then come
        back to the settings.
      </p>
      {link === '' && <Note tone="bad">This address is incomplete. Open the whole connect URL of the call.</Note>}
      {connect.error && (
        <Note tone="bad" role="alert">
          {connect.error.message}
        </Note>
      )}
      <Button look="main" disabled={link === '' || connect.isPending} onClick={() => connect.mutate({ link })}>
        Continue
      </Button>
    </div>
  )
}
