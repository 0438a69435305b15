import { inTurns, type Pairs } from '../batches.ts'
import { HttpLoadGenerator } from '../mcp/http-load-generator.ts'
import { servers } from '../mcp/servers/index.ts'
import { rawEcho } from '../mcp/servers/raw-echo.ts'
import { handler } from '../weather.ts'
import type { McpOptions } from './mcp-client.ts'

/** One server against the raw echo, both in this process and asked the same; who asks is another process. */
export async function mcpServer({ id, pairs, batchMs, warmMs, warmCalls }: McpOptions): Promise<Pairs> {
  const server = servers.find((each) => each.id === id)
  if (server === undefined) throw new Error(`There is no server '${id}'.`)
  const base = await rawEcho.listen(handler)
  const listening = await server.listen(handler)
  const load = new HttpLoadGenerator()
  try {
    const against = (url: string) => load.against(url, server.era)
    const [baseLoop, loop] = [against(base.url), against(listening.url)]
    for (const each of [baseLoop, loop]) await each(warmCalls)
    return await inTurns(baseLoop, loop, pairs, batchMs, warmMs)
  } finally {
    load.close()
    await Promise.all([base.close(), listening.close()])
  }
}
