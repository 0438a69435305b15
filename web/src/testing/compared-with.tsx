import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { runQuery, useMay } from '../api/queries.ts'
import { Note } from '../parts/states.tsx'
import { callsOf, differenceOf } from './compare-calls.ts'
import type { Answer } from './run-state.ts'

/** Compares the calls of a run with those of the run it repeats. */
export function ComparedWith({ run, answer }: { readonly run: string; readonly answer: Answer }) {
  const mayObserve = useMay('observe')
  const { data: before } = useQuery({ ...runQuery(run), enabled: mayObserve })
  if (before === undefined) return null
  const now = answer.tool_calls.filter(({ iteration }) => iteration > 0)
  const difference = differenceOf(callsOf(before.steps), now)
  return (
    <div className="mt-3">
      <Note tone={difference === undefined ? 'good' : 'warn'} role="status">
        {difference === undefined ? 'The same calls as in the ' : `${difference} Compared with the `}
        <Link href={`/runs/${run}`} className="underline">
          run before
        </Link>
        {difference === undefined && `, by ${before.model}.`}
        {difference !== undefined && ` by ${before.model}.`}
      </Note>
    </div>
  )
}
