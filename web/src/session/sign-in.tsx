import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Session } from '../../../src/server/http/views.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Note } from '../parts/states.tsx'

/** Why the server sent the user back. */
const FAULTS: Readonly<Record<string, string>> = {
  expired: 'Signing in took too long. Try again.',
  no_role: 'Your account has no role on this server. Ask its operator.',
  no_tenant: 'Your account belongs to no tenant of this server. Ask its operator.',
  refused: 'The sign-in was refused. Try again.',
  unavailable: 'The sign-in service does not answer. Try again later, or use an API key.',
}

interface SignInProps {
  /** Whether users can sign in with their account. */
  readonly withAccount: boolean
}

/** The sign-in form. The server answers with a cookie that scripts can't read. */
export function SignIn({ withAccount }: SignInProps) {
  const fault = FAULTS[new URLSearchParams(location.search).get('sign_in') ?? '']
  const client = useQueryClient()
  const [key, setKey] = useState('')
  const signIn = useMutation({
    mutationFn: () => requestJson<Session>('/api/session', { method: 'POST', body: { key: key.trim() } }),
    onSuccess: (session) => {
      setKey('')
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
      client.setQueryData(['session'], session)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (key.trim() !== '') signIn.mutate()
  }
  return (
    <form onSubmit={submit} className="panel mx-auto mt-8 max-w-md p-6">
      <h1 className="text-xl font-semibold">Sign in</h1>
      {fault !== undefined && (
        <div className="mt-4">
          <Note tone="bad" role="alert">
            {fault}
          </Note>
        </div>
      )}
      {withAccount && (
        <a
          href="/api/session/oidc"
          className="mt-5 flex min-h-9 items-center justify-center rounded-lg border border-accent bg-accent px-3 py-1 text-sm font-medium text-on-accent hover:brightness-110"
        >
          Sign in with your account
        </a>
      )}
      <p className={withAccount ? 'mt-5 text-muted' : 'mt-1 text-muted'}>
        {withAccount ? 'Or use an API key.' : 'This server needs an API key.'} You stay signed in for up to 7 days.
      </p>
      <label htmlFor="key" className="mt-5 block text-sm font-medium">
        API key
      </label>
      <input
        id="key"
        type="password"
        autoComplete="current-password"
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the page has nothing else to do.
        autoFocus
        placeholder="ty_…"
        className="field mt-1 font-mono"
        value={key}
        onChange={(event) => setKey(event.target.value)}
        aria-invalid={signIn.isError}
        aria-describedby="key-help"
      />
      <p id="key-help" className="mt-1.5 text-sm text-muted">
        Create one with <code className="font-mono">npx toolyard keys create</code>.
      </p>
      {signIn.error && (
        <div className="mt-4">
          <Note tone="bad" role="alert">
            {signIn.error.message}
          </Note>
        </div>
      )}
      <Button type="submit" look="main" className="mt-5 w-full" disabled={key.trim() === '' || signIn.isPending}>
        {signIn.isPending ? 'Signing in …' : 'Sign in'}
      </Button>
    </form>
  )
}
