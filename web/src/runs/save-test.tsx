import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { FileCase } from '../../../src/validation/suites/suite.ts'
import { suitesQuery, useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Note } from '../parts/states.tsx'

/** The suite that tests are saved to. */
const SUITE = 'my-tests'

interface Saved {
  readonly suite: string
  readonly case: FileCase
}

interface SaveTestProps {
  readonly from: { readonly run_id: string } | { readonly call_id: string }
}

const focusOnce = (link: HTMLAnchorElement | null) => link?.focus()

/** Saves a run or a call as a test on the server. */
export function SaveTest({ from }: SaveTestProps) {
  const client = useQueryClient()
  const mayValidate = useMay('validate')
  const save = useMutation({
    mutationFn: () => requestJson<Saved>(`/api/suites/saved/${SUITE}/cases`, { method: 'POST', body: from }),
    onSuccess: () =>
      Promise.all([suitesQuery.queryKey, ['saved']].map((queryKey) => client.invalidateQueries({ queryKey }))),
  })
  if (!mayValidate) return null
  const { data, error } = save
  return (
    <>
      <Button disabled={save.isPending || data !== undefined} onClick={() => save.mutate()}>
        {data === undefined ? 'Make this a test' : 'Saved as a test'}
      </Button>
      {data !== undefined && (
        <div className="w-full">
          <Note tone="good" role="status">
            Saved to {SUITE} as {data.case.id}. Check what it expects:{' '}
            <Link
              ref={focusOnce}
              href={`/models/suites/${SUITE}?case=${encodeURIComponent(data.case.id ?? '')}`}
              className="underline underline-offset-2"
            >
              Edit the test
            </Link>
            .
          </Note>
        </div>
      )}
      {error && (
        <div className="w-full">
          <Note tone="bad" role="alert">
            {error.message}
          </Note>
        </div>
      )}
    </>
  )
}
