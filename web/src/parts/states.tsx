import type { ReactNode } from 'react'
import { ApiProblem } from '../api/api-problem.ts'
import { Button } from './button.tsx'

/** Something is on its way. It keeps the room that will be needed, so that nothing jumps. */
export const Loading = ({ what }: { readonly what: string }) => (
  <div role="status" className="moving grid min-h-40 place-items-center text-muted">
    Loading {what} …
  </div>
)

/** There is nothing, and this is what can be done. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="panel grid min-h-40 place-items-center border-dashed p-6 text-center">
    <div>
      <p className="font-medium">{title}</p>
      <div className="mt-1 text-muted">{children}</div>
    </div>
  </div>
)

interface FailedProps {
  readonly error: Error
  readonly what: string
  readonly again?: () => void
}

/** Something could not be had: why, and what to do next. */
export const Failed = ({ error, what, again }: FailedProps) => (
  <div role="alert" className="rounded-xl border border-bad bg-bad-ground p-4 wrap-anywhere text-bad">
    <p className="font-medium">Could not load {what}</p>
    <p className="mt-1">{error.message}</p>
    <p className="mt-1">{adviceOn(error)}</p>
    {again !== undefined && (
      <Button className="mt-3" onClick={again}>
        Try again
      </Button>
    )}
  </div>
)

function adviceOn(error: Error): string {
  const status = error instanceof ApiProblem ? error.status : undefined
  if (status === 0) return 'Look whether the server still runs. The page goes on by itself when it is back.'
  if (status === 401) return 'Sign in again.'
  if (status === 403) return 'Ask whoever gave you the key for one that may, or sign in with another.'
  if (status === 404) return 'It may have been removed, or its name may be misspelt.'
  return 'Try again; if that does not help, the log of the server says more.'
}

type Tone = 'plain' | 'good' | 'warn' | 'bad'

const TONES: Readonly<Record<Tone, string>> = {
  plain: 'border-line bg-sunk text-ink',
  good: 'border-good bg-good-ground text-good',
  warn: 'border-warn bg-warn-ground text-warn',
  bad: 'border-bad bg-bad-ground text-bad',
}

interface NoteProps {
  readonly tone?: Tone
  readonly role?: 'alert' | 'status'
  readonly children: ReactNode
}

/** A sentence that must not be missed. */
export const Note = ({ tone = 'plain', role, children }: NoteProps) => (
  <div role={role} className={`rounded-lg border px-3 py-2 text-sm wrap-anywhere ${TONES[tone]}`}>
    {children}
  </div>
)

/** A word or two about a thing. */
export const Chip = ({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) => (
  <span
    className={`inline-flex items-center rounded-md border px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
  >
    {children}
  </span>
)
