import type { QueryClient } from '@tanstack/react-query'
import { toolsQuery } from '../api/queries.ts'

const PAUSE_MS = 1_000
const MOST_TRIES = 20

/** Refreshes the tools until those of new MCP servers are there. The server connects after it has answered. */
export function followTools(client: QueryClient, servers: readonly string[], tries = MOST_TRIES): void {
  if (tries === 0) return
  setTimeout(async () => {
    const { tools } = await client.fetchQuery({ ...toolsQuery, staleTime: 0 }).catch(() => ({ tools: [] }))
    const origins = new Set(tools.map(({ origin }) => origin))
    if (!servers.every((server) => origins.has(server))) followTools(client, servers, tries - 1)
  }, PAUSE_MS)
}
