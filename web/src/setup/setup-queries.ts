import { queryOptions } from '@tanstack/react-query'
import type { Setup } from '../../../src/app/setup/setup.ts'
import { requestJson } from '../api/request.ts'

/** What the page can change on this server, and why not. */
export type SetupState = Awaited<ReturnType<Setup['state']>>

export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => requestJson<SetupState>('/api/setup', { signal }),
})
