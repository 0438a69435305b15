import { queryOptions, type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { McpServerStatus } from '../../../../src/app/tools/mcp-status.ts'
import type { LimitsView } from '../../../../src/operations/limits.ts'
import { useConnection } from '../../api/connection.ts'
import { requestJson } from '../../api/request.ts'

/** The refresh interval. Hidden tabs don't refresh. */
const REFRESH_MS = 3_000

export const serversQuery = queryOptions({
  queryKey: ['mcp-servers'],
  queryFn: ({ signal }) => requestJson<{ servers: McpServerStatus[] }>('/api/mcp/servers', { signal }),
})

export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  queryFn: ({ signal }) => requestJson<LimitsView>('/api/limits', { signal }),
})

/** Refreshes while the page is visible and the server answers. */
export function useWatched<Data, Key extends readonly unknown[]>(
  options: UseQueryOptions<Data, Error, Data, Key>,
): UseQueryResult<Data> {
  const { up } = useConnection()
  return useQuery({ ...options, refetchInterval: up ? REFRESH_MS : false })
}
