import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { failuresQuery } from '../api/queries.ts'
import { inDate } from '../parts/figures.ts'

interface FailuresProps {
  readonly model: string
  readonly tool: string
  /** The failure kinds with their counts. */
  readonly kinds: string
}

/** Failures of a model with a tool: counts, and the latest ones in detail. */
export function Failures({ model, tool, kinds }: FailuresProps) {
  const [open, setOpen] = useState(false)
  const { data, error } = useQuery({ ...failuresQuery(model, tool), enabled: open })
  return (
    <details className="mt-0.5 text-xs whitespace-normal" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="cursor-pointer text-bad">{kinds}</summary>
      {error && <p className="mt-1 text-bad">{error.message}</p>}
      {open && data === undefined && !error && <p className="moving mt-1 text-muted">Loading the failures …</p>}
      <ul className="mt-1 grid min-w-64 gap-2">
        {data?.map(({ timestamp, message, expected, actual, run_id }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: failures have no ids, and two may have the same time.
          <li key={`${timestamp} ${index}`} className="rounded-lg bg-sunk p-2">
            <p className="break-words">{message}</p>
            {expected !== undefined && <Quoted title="expected" text={expected} />}
            {actual !== undefined && <Quoted title="actual" text={actual} />}
            <p className="mt-0.5 text-muted">
              <time dateTime={timestamp}>{inDate(timestamp)}</time>
              {run_id !== undefined && (
                <>
                  ,{' '}
                  <Link href={`/runs/${run_id}`} className="underline">
                    the run
                  </Link>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </details>
  )
}

const Quoted = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <p className="break-words">
    <span className="text-muted">{title}</span> <code className="font-mono">{text}</code>
  </p>
)
