import { inTurns, type Pairs } from '../batches.ts'
import { clients } from '../mcp/clients/index.ts'
import { rawEcho } from '../mcp/clients/raw-echo.ts'
import { inFlight } from '../mcp/in-flight.ts'
import { WEATHER } from '../weather.ts'

export interface McpOptions {
  readonly id: string
  readonly pairs: number
  readonly batchMs: number
  readonly warmMs: number
  /** Made once, before anything is measured: the SDK has much code to compile, and a busy machine takes long over it. */
  readonly warmCalls: number
}

/** One client against the raw echo, each with a server of its own; what they use is what this process uses. */
export async function mcpClient({ id, pairs, batchMs, warmMs, warmCalls }: McpOptions): Promise<Pairs> {
  const client = clients.find((each) => each.id === id)
  if (client === undefined) throw new Error(`There is no client '${id}'.`)
  const base = await rawEcho.connect()
  const connected = await client.connect()
  try {
    const answer = JSON.stringify(await connected.call())
    if (!answer.includes(WEATHER.condition)) throw new Error(`'${id}' did not do its work; it answered ${answer}.`)
    const loop = inFlight(connected.call)
    await loop(warmCalls)
    return await inTurns(inFlight(base.call), loop, pairs, batchMs, warmMs)
  } finally {
    await Promise.all([base.close(), connected.close()])
  }
}
