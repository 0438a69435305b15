import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '../api/request.ts'

interface SignOutProps {
  readonly name: string
  readonly tenant: string
}

/** The current user and the sign-out button. */
export function SignOut({ name, tenant }: SignOutProps) {
  const client = useQueryClient()
  const signOut = useMutation({
    mutationFn: () => request('/api/session', { method: 'DELETE' }),
    onSuccess: async () => {
      // Drops data that was loaded with the key.
      const { threadStore } = await import('../testing/thread-store.ts')
      threadStore().clear()
      await client.cancelQueries()
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
      await client.invalidateQueries({ queryKey: ['session'] })
    },
  })
  return (
    <button
      type="button"
      title={`${name}, tenant ${tenant}`}
      onClick={() => signOut.mutate()}
      disabled={signOut.isPending}
      className="rounded-lg px-2.5 py-1.5 text-sm whitespace-nowrap text-muted hover:bg-sunk hover:text-ink"
    >
      Sign out
    </button>
  )
}
