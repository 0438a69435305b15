import { queryOptions, type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { McpServerStatus } from '../../../../src/app/mcp-status.ts'
import type { LimitsView } from '../../../../src/server/http/views.ts'
import { useConnection } from '../../api/connection.ts'
import { requestJson } from '../../api/request.ts'

/** How often what is looked at is asked for again; a tab that nobody sees asks for nothing. */
const REFRESH_MS = 3_000

export const serversQuery = queryOptions({
  queryKey: ['mcp-servers'],
  queryFn: ({ signal }) => requestJson<{ servers: McpServerStatus[] }>('/api/mcp/servers', { signal }),
})

export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  queryFn: ({ signal }) => requestJson<LimitsView>('/api/limits', { signal }),
})

/** Asks again and again while it is looked at, but not while the server is away. */
export function useWatched<Data, Key extends readonly unknown[]>(
  options: UseQueryOptions<Data, Error, Data, Key>,
): UseQueryResult<Data> {
  const { up } = useConnection()
  return useQuery({ ...options, refetchInterval: up ? REFRESH_MS : false })
}
