import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ShownUser } from '../../../src/operations/users.ts'
import { sessionQuery } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { inDate } from '../parts/figures.ts'
import { Section } from '../parts/section.tsx'
import { Chip, Empty, Failed, Loading, Note } from '../parts/states.tsx'
import { usersQuery } from './setting-queries.ts'

/** Lists the users of the tenant who have signed in at the issuer, and signs them out. */
export function Users() {
  const { data: session } = useQuery(sessionQuery)
  const { data: users, error, refetch } = useQuery(usersQuery)
  return (
    <Section title="Users" about="Users of your tenant who have signed in within a day, or were signed out.">
      {users === undefined && error && <Failed error={error} what="the users" again={() => void refetch()} />}
      {users === undefined && !error && <Loading what="the users" />}
      {users?.length === 0 && <Empty title="No users yet">Nobody has signed in with an account.</Empty>}
      {users !== undefined && users.length > 0 && (
        <ul aria-label="Users" className="panel divide-y divide-line">
          {users.map((user) => (
            <User key={user.id} user={user} isOwn={user.id === session?.id} />
          ))}
        </ul>
      )}
    </Section>
  )
}

function User({ user, isOwn }: { readonly user: ShownUser; readonly isOwn: boolean }) {
  const { id, name, role, issued_at, revoked_at } = user
  const shown = name || id
  const isOut = revoked_at !== null && Date.parse(revoked_at) >= Date.parse(issued_at ?? revoked_at)
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const signOut = useMutation({
    mutationFn: () => request('/api/users/revoke', { method: 'POST', body: { id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: isOwn ? ['session'] : ['users'] }),
  })
  return (
    <li className="grid grid-cols-1 gap-1.5 px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
        <span className="font-medium break-all">{shown}</span>
        {role !== '' && <Chip>{role}</Chip>}
        {isOwn && <Chip tone="good">you</Chip>}
        {isOut && <Chip tone="bad">signed out</Chip>}
        <span className="ml-auto">
          <Button
            look="danger"
            aria-label={`Sign out ${shown}`}
            disabled={signOut.isPending}
            onClick={() => setAsking(true)}
          >
            {signOut.isPending ? 'Signing out …' : 'Sign out'}
          </Button>
        </span>
      </div>
      {signOut.error && (
        <Note tone="bad" role="alert">
          {signOut.error.message}
        </Note>
      )}
      <p className="text-muted">
        <span className="font-mono text-xs break-all">{id}</span>
        {issued_at !== null && `, last token of ${inDate(issued_at)}`}
        {revoked_at !== null && `, signed out ${inDate(revoked_at)}`}
      </p>
      <ConfirmDialog
        open={asking}
        title={`Sign out “${shown}”?`}
        action="Sign out"
        onConfirm={() => {
          setAsking(false)
          signOut.mutate()
        }}
        onClose={() => setAsking(false)}
      >
        <p>
          All sessions, tokens and running work of this user end. An account that isn’t locked at the issuer can sign in
          again after 30 seconds. Keys that the user has created stay valid.
        </p>
      </ConfirmDialog>
    </li>
  )
}
