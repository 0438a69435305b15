import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ApiProblem } from '../api/api-problem.ts'
import { Button } from './button.tsx'

/** Loading placeholder. Reserves space, so that the layout doesn't jump. */
export const Loading = ({ what }: { readonly what: string }) => (
  <div role="status" className="moving grid min-h-40 place-items-center text-muted">
    Loading {what} …
  </div>
)

interface EmptyProps {
  readonly title: string
  readonly children?: ReactNode
  /** What to do about it. */
  readonly action?: { readonly label: string; readonly href: string }
}

const ACTION =
  'mt-3 inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk'

/** Empty state with a hint and a useful action. */
export const Empty = ({ title, children, action }: EmptyProps) => (
  <div className="panel empty grid place-items-center border-dashed p-6 text-center">
    <div>
      <p className="font-medium">{title}</p>
      <div className="mt-1 text-muted">{children}</div>
      {action !== undefined &&
        // The docs are not a part of this page.
        (action.href.startsWith('/guide/') ? (
          <a href={action.href} className={ACTION}>
            {action.label}
          </a>
        ) : (
          <Link href={action.href} className={ACTION}>
            {action.label}
          </Link>
        ))}
    </div>
  </div>
)

interface FailedProps {
  readonly error: Error
  readonly what: string
  readonly again?: () => void
}

/** Loading failed: the reason and what to do. */
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
  if (status === 0) return 'Check that the server is running. The page reconnects automatically.'
  if (status === 401) return 'Sign in again.'
  if (status === 403) return 'Ask an administrator for another key, or sign in with another one.'
  if (status === 404) return 'It may have been removed, or its name is misspelled.'
  return 'Try again. If it fails again, see the server log.'
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

/** A notice. */
export const Note = ({ tone = 'plain', role, children }: NoteProps) => (
  <div role={role} className={`rounded-lg border px-3 py-2 text-sm wrap-anywhere ${TONES[tone]}`}>
    {children}
  </div>
)

/** A small label. */
export const Chip = ({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) => (
  <span
    className={`inline-flex items-center rounded-md border px-1.5 py-px text-xs font-medium whitespace-nowrap compact:border-0 compact:py-0 compact:text-[0.6875rem] compact:leading-4 ${TONES[tone]}`}
  >
    {children}
  </span>
)
