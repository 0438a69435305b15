import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiProblem } from '../api/api-problem.ts'
import { requestJson } from '../api/request.ts'
import { useSettled } from '../parts/use-settled.ts'
import type { NamedSecret } from './setup-queries.ts'

/** A change of the configuration, by its kind. */
export interface Change {
  readonly kind: 'mcp_servers' | 'provider' | 'http_tool' | 'openapi' | 'collection'
  readonly [field: string]: unknown
}

/** What a change does to the file. */
export interface ChangeView {
  /** Identifies the version of the file that the diff is for. */
  readonly base: string
  /** Unified; empty if the file stays as it is. */
  readonly diff: string
  /** The part to copy by hand. */
  readonly text: string
  readonly warnings: readonly string[]
  /** What goes to the secret store, without the values. */
  readonly secrets: readonly NamedSecret[]
  readonly written: boolean
  /** Why it was not, or can't be written. */
  readonly reason?: string
  readonly backup?: string
}

const ADDRESS = '/api/setup/changes'

/** Shows what a change does while somebody edits it, and writes it. The shown change never contains secrets. */
export function useChange(change: Change | undefined, onWritten: (view: ChangeView) => void) {
  const client = useQueryClient()
  const typed = change === undefined ? '' : JSON.stringify(change)
  const settled = useSettled(typed)
  const preview = useQuery({
    queryKey: ['setup', 'change', settled],
    queryFn: ({ signal }) =>
      requestJson<ChangeView>(ADDRESS, { method: 'POST', body: { change: JSON.parse(settled) }, signal }),
    enabled: settled !== '',
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const write = useMutation({
    mutationFn: (whole: Change) =>
      requestJson<ChangeView>(ADDRESS, {
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
    write: (whole: Change) => write.mutate(whole),
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
