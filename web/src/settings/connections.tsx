import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import type { ConnectFault, ConnectionView } from '../../../src/app/connections.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Section } from '../parts/section.tsx'
import { Chip, Failed, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'

const connectionsQuery = queryOptions({
  queryKey: ['connections'],
  queryFn: ({ signal }) => requestJson<{ connections: ConnectionView[] }>('/api/connections', { signal }),
  select: ({ connections }) => connections,
})

/** Nothing that a provider says is shown. */
const OUTCOMES: Readonly<Record<ConnectFault | 'connected', string>> = {
  connected: 'The account is connected.',
  denied: 'The account is not connected, because the access was not allowed.',
  expired: 'The account is not connected: it took longer than 10 minutes, or another browser started it. Try again.',
  refused: 'The account is not connected, because the provider gave no access. Try again.',
  unavailable: 'The account is not connected, because the provider does not answer. Try again later.',
}

const STATUS = { connected: 'connected', broken: 'connect again', none: 'not connected' } as const

/** Sends the browser to the provider. */
function useConnect() {
  return useMutation({
    mutationFn: (body: { readonly provider: string } | { readonly link: string }) =>
      requestJson<{ url: string }>('/api/connections', { method: 'POST', body }),
    onSuccess: ({ url }) => window.location.assign(url),
  })
}

/** The accounts of the user at OAuth providers; nothing if none is configured. */
export function Connections() {
  const client = useQueryClient()
  const { data: connections = [], error, refetch } = useQuery(connectionsQuery)
  const [search] = useSearchParams()
  const outcome = search.get('connection') ?? ''
  const connect = useConnect()
  const revoke = useMutation({
    mutationFn: (provider: string) =>
      requestJson<{ revoked: boolean }>(`/api/connections/${encodeURIComponent(provider)}`, { method: 'DELETE' }),
    onSuccess: () => client.invalidateQueries({ queryKey: connectionsQuery.queryKey }),
  })
  const isPending = connect.isPending || revoke.isPending
  const problem = connect.error ?? revoke.error
  if (connections.length === 0 && !error) return null
  return (
    <Section title="Connections" about="Tools call these services with your account. Other users can’t use it.">
      {Object.hasOwn(OUTCOMES, outcome) && (
        <Note tone={outcome === 'connected' ? 'good' : 'bad'} role="status">
          {OUTCOMES[outcome as ConnectFault]}
        </Note>
      )}
      {problem && (
        <Note tone="bad" role="alert">
          {problem.message}
        </Note>
      )}
      {error && <Failed error={error} what="your connections" again={() => void refetch()} />}
      <ul aria-label="Connections" className="grid grid-cols-1 gap-3">
        {connections.map(({ provider, title, status, scopes }) => (
          <li key={provider} className="panel flex flex-wrap items-center gap-2 p-4 text-sm">
            <span className="font-medium">{title}</span>
            <Chip>{STATUS[status]}</Chip>
            {scopes.map((scope) => (
              <Chip key={scope}>{scope}</Chip>
            ))}
            <span className="ml-auto flex gap-2">
              {status !== 'connected' && (
                <Button disabled={isPending} onClick={() => connect.mutate({ provider })}>
                  Connect {title}
                </Button>
              )}
              {status !== 'none' && (
                <Button disabled={isPending} onClick={() => revoke.mutate(provider)}>
                  Revoke {title}
                </Button>
              )}
            </span>
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
  const connect = useConnect()
  return (
    <Section
      title="Connect an account"
      about="A tool that you called needs your account at another service. You continue there, and come back here."
    >
      {connect.error && (
        <Note tone="bad" role="alert">
          {connect.error.message}
        </Note>
      )}
      <p>
        <Button disabled={link === '' || connect.isPending} onClick={() => connect.mutate({ link })}>
          Continue
        </Button>
      </p>
    </Section>
  )
}
