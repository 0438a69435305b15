import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { Failed, Loading } from '../parts/states.tsx'
import { SignIn } from './sign-in.tsx'

/** Shows its children to signed-in users, and others the sign-in form. */
export function SignedIn({ children }: { readonly children: ReactNode }) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  if (session === undefined) {
    return error ? <Failed error={error} what="the page" again={() => void refetch()} /> : <Loading what="the page" />
  }
  return session.state === 'signed_out' ? <SignIn withAccount={session.sign_in === true} /> : children
}
