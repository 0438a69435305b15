import { inTurns, type Loop, type Pairs } from '../batches.ts'
import { toolyard, weatherTool } from '../toolyard.ts'
import { handler, PARAMS } from '../weather.ts'

export interface ScaleOptions {
  readonly sizes: readonly number[]
  readonly pairs: number
  readonly batchMs: number
  readonly warmMs: number
}

export interface ScaleRow {
  readonly tools: number
  readonly lookup: Pairs
  readonly path: Pairs
  /** The whole path, calling every registered tool in turn. */
  readonly everyTool: Pairs
}

/** How many different tools are called: the same number whatever is registered. */
const CALLED = 10

/** What looking up and calling cost with ever more tools registered, each size in turns with the first. */
export async function scale({ sizes, pairs, batchMs, warmMs }: ScaleOptions): Promise<ScaleRow[]> {
  const loops = await Promise.all(sizes.map(loopsOf))
  const [base] = loops
  if (base === undefined) return []
  const rows: ScaleRow[] = []
  for (const each of loops) {
    const against = (a: Loop, b: Loop) => inTurns(a, b, pairs, batchMs, warmMs)
    rows.push({
      tools: each.tools,
      lookup: await against(base.lookup, each.lookup),
      path: await against(base.path, each.path),
      everyTool: await against(base.everyTool, each.everyTool),
    })
  }
  return rows
}

async function loopsOf(tools: number) {
  const names = Array.from({ length: tools }, (_, i) => `get_weather_${i}`)
  const called = Array.from({ length: CALLED }, (_, i) => names[Math.floor((i * tools) / CALLED)] as string)
  const manager = await toolyard(
    names.map((name) => weatherTool({ name })),
    { weather: handler },
  )
  const registry = manager.getRegistry()
  const executor = manager.getExecutor()
  for (const name of names) await executor.execute(name, PARAMS)
  const path =
    (over: readonly string[]): Loop =>
    async (calls) => {
      for (let i = 0, at = 0; i < calls; i++, at = at + 1 === over.length ? 0 : at + 1) {
        await executor.execute(over[at] as string, PARAMS)
      }
    }
  const lookup: Loop = async (calls) => {
    let found = 0
    for (let i = 0, at = 0; i < calls; i++, at = at + 1 === CALLED ? 0 : at + 1) {
      if (registry.get(called[at] as string) !== undefined) found++
    }
    if (found !== calls) throw new Error(`${calls - found} of ${calls} lookups found nothing.`)
  }
  return { tools, lookup, path: path(called), everyTool: path(names) }
}
