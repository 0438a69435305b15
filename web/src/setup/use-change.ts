import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { SetupChange } from '../../../src/app/setup/build-change.ts'
import type { ChangeAnswer } from '../../../src/app/setup/setup.ts'
import { ApiProblem } from '../api/api-problem.ts'
import { request, requestJson } from '../api/request.ts'
import { toast } from '../parts/toast.tsx'
import { useSettled } from '../parts/use-settled.ts'

const ADDRESS = '/api/setup/changes'

export interface WrittenChange extends ChangeAnswer {
  /** Takes the change back. Absent if there was no file before it. */
  readonly undo?: () => void
}

/** Shows what a change does while somebody edits it, and writes it. The shown change never contains secrets. */
export function useChange(change: SetupChange | undefined, onWritten: (view: WrittenChange) => void) {
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
  const refresh = () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'change' })
  const undo = async (backup: string): Promise<void> => {
    try {
      await request('/api/setup/undo', { method: 'POST', body: { backup } })
      toast({ text: 'The configuration is as before.' })
    } catch (error) {
      toast({ text: (error as Error).message })
    }
    await refresh()
  }
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
      void refresh()
      const { backup } = view
      onWritten(backup === undefined ? view : { ...view, undo: () => void undo(backup) })
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
