import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { SetupChange } from '../../../src/app/setup/build-change.ts'
import type { ChangeAnswer } from '../../../src/app/setup/setup.ts'
import { ApiProblem } from '../api/api-problem.ts'
import { requestJson } from '../api/request.ts'
import { useSettled } from '../parts/use-settled.ts'

const ADDRESS = '/api/setup/changes'

/** Shows what a change does while somebody edits it, and writes it. The shown change never contains secrets. */
export function useChange(change: SetupChange | undefined, onWritten: (view: ChangeAnswer) => void) {
  const client = useQueryClient()
  const typed = change === undefined ? '' : JSON.stringify(change)
  const settled = useSettled(typed)
  const preview = useQuery({
    queryKey: ['setup', 'change', settled],
    queryFn: ({ signal }) =>
      requestJson<ChangeAnswer>(ADDRESS, { method: 'POST', body: { change: JSON.parse(settled) }, signal }),
    enabled: settled !== '',
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const write = useMutation({
    mutationFn: (whole: SetupChange) =>
      requestJson<ChangeAnswer>(ADDRESS, {
        method: 'POST',
        body: { change: whole, write: true, base: preview.data?.base },
      }),
    // Secrets don't stay in the memory of the page.
    gcTime: 0,
    onSuccess: (view) => {
      if (!view.written) return
      void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'change' })
      onWritten(view)
    },
    onError: (error) => {
      if (isOutdated(error)) void preview.refetch()
    },
  })
  return {
    /** The form is complete. */
    complete: typed !== '',
    view: typed === '' ? undefined : preview.data,
    error: typed === '' ? null : preview.error,
    /** The view belongs to what is typed now. */
    current: typed !== '' && typed === settled && !preview.isPlaceholderData && !preview.isFetching && !preview.error,
    write: (whole: SetupChange) => write.mutate(whole),
    writing: write.isPending,
    /** Somebody else has changed the file meanwhile. */
    outdated: isOutdated(write.error),
    writeError: isOutdated(write.error) ? null : write.error,
    /** Why the server did not write. */
    refused: write.data?.written === false ? write.data.reason : undefined,
  }
}

export type ChangeState = ReturnType<typeof useChange>

const isOutdated = (error: Error | null): boolean => error instanceof ApiProblem && error.status === 409
