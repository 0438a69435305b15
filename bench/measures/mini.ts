import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { miniWire } from '../../src/models/mini-wire.ts'
import type { Model, OfferedTool } from '../../src/models/model.ts'
import { readStream } from '../../src/testing/model-contract.ts'
import { developmentCases } from '../mini/development.ts'

export interface MiniOptions {
  readonly tools: readonly number[]
  readonly queries: number
  /** How many ask at the same time. */
  readonly batch: number
}

export interface MiniRow {
  readonly tools: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface MiniResult {
  /** From the first question to its answer, on a process that was not there. */
  readonly firstMs: number
  /** A question with 16 tools to a process that has answered one before. */
  readonly firstWarmMs: number
  readonly rows: readonly MiniRow[]
  readonly batchMs: number
  /** Of the process that holds the model; undefined where the system does not tell. */
  readonly childMb: number | undefined
  readonly parentMb: number
}

/** Asks the model in the box with more and more offered tools, one question after the other, then many at once. */
export async function mini({ tools: sizes, queries, batch }: MiniOptions): Promise<MiniResult> {
  const wire = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock })
  const model: Model = { id: 'mini:v1', stream: (request) => wire.stream('v1', request) }
  const { calls } = developmentCases()
  const offered = [...new Map(calls.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool]))).values()]
  const ask = async (at: number, tools: readonly OfferedTool[]): Promise<number> => {
    const started = performance.now()
    await readStream(model, { messages: calls[at % calls.length]?.turns[0] ?? [], tools })
    return performance.now() - started
  }
  const firstMs = await ask(0, offered.slice(0, 1))
  const firstWarmMs = await firstAfterStart()
  const rows: MiniRow[] = []
  for (const size of sizes) {
    const tools = someTools(offered, size)
    // The index of many tools is made once.
    await ask(1, tools)
    const times: number[] = []
    for (let at = 0; at < queries; at++) times.push(await ask(at * 7, size === 1 ? ownTool(calls, at * 7) : tools))
    times.sort((left, right) => left - right)
    const share = (part: number): number => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
    rows.push({ tools: size, p50Ms: share(0.5), p99Ms: share(0.99) })
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: batch }, (_, at) => ask(at * 5, ownTool(calls, at * 5))))
  const batchMs = performance.now() - started
  const childMb = residentMb(wire.pid)
  await wire.close()
  return { firstMs, firstWarmMs, rows, batchMs, childMb, parentMb: process.memoryUsage.rss() / 2 ** 20 }
}

/** A question with 16 tools, after one that loaded the model and embedded the tools. */
async function firstAfterStart(): Promise<number> {
  const wire = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock })
  const model: Model = { id: 'mini:v1', stream: (request) => wire.stream('v1', request) }
  const { calls } = developmentCases()
  const tools = [...new Map(calls.flatMap((one) => one.tools.map((tool) => [tool.name, tool]))).values()].slice(0, 16)
  await readStream(model, { messages: [{ role: 'user', content: 'warm up' }], tools })
  const started = performance.now()
  await readStream(model, { messages: calls[0]?.turns[0] ?? [], tools })
  const firstMs = performance.now() - started
  await wire.close()
  return firstMs
}

const ownTool = (calls: ReturnType<typeof developmentCases>['calls'], at: number): readonly OfferedTool[] =>
  calls[at % calls.length]?.tools ?? []

/** So many tools: those that there are, and then the same again by other names. */
function someTools(tools: readonly OfferedTool[], size: number): OfferedTool[] {
  return Array.from({ length: size }, (_, index) => {
    const tool = tools[index % tools.length] as OfferedTool
    return index < tools.length ? tool : { ...tool, name: `${tool.name}_${index}` }
  })
}

function residentMb(pid: number | undefined): number | undefined {
  try {
    const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return resident === undefined ? undefined : Number(resident) / 1024
  } catch {
    return undefined
  }
}
