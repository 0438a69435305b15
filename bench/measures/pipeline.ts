import { silentLog, ToolHandlers, ToolManager } from '../../src/index.ts'
import { type Batch, batch, type Loop, warmUp } from '../batches.ts'
import { median } from '../statistics.ts'
import { DESCRIPTION, handler, NAME, PARAMS, SCHEMA, WEATHER } from '../weather.ts'

export interface PipelineOptions {
  readonly steps: number
  /** Whether each step reads the result of the step before. */
  readonly chained: boolean
  readonly turns: number
  readonly batchMs: number
  readonly warmMs: number
}

export interface PipelineResult {
  /** The pipeline, and as many direct calls one after the other. */
  readonly pipelineUs: number
  readonly directUs: number
  readonly ratio: number
  /** What each step takes besides its call. */
  readonly overheadUs: number
}

/** A pipeline, and the calls of its steps without it, in turns. */
export async function pipeline(options: PipelineOptions): Promise<PipelineResult> {
  const { steps: count, chained } = options
  const handlers = new ToolHandlers()
  handlers.register(NAME, handler, { effect: 'read' })
  const location = (at: number) => ({ $: chained && at > 0 ? `$.steps.s${at - 1}.condition` : '$.params.location' })
  const steps = Array.from({ length: count }, (_, at) => ({
    ...{ id: `s${at}`, tool: NAME, params: { ...PARAMS, location: location(at) } },
  }))
  const tool = (name: string, implementation: { readonly type: string }) => ({
    ...{ name, description: DESCRIPTION, parameters: SCHEMA, implementation },
  })
  const registry = [
    tool(NAME, { type: 'internal', handler: NAME } as never),
    tool('all', { type: 'pipeline', steps } as never),
  ]
  const manager = new ToolManager({ tools: { enabled: true, registry } }, { handlers, log: silentLog })
  await manager.loadTools()
  const executor = manager.getExecutor()
  const answer = JSON.stringify(await executor.execute('all', PARAMS))
  if (!answer.includes(WEATHER.condition)) throw new Error(`The pipeline did not do its work; it answered ${answer}.`)
  const whole: Loop = async (times) => {
    for (let i = 0; i < times; i++) await executor.execute('all', PARAMS)
  }
  const single: Loop = async (times) => {
    for (let i = 0; i < times * count; i++) await executor.execute(NAME, PARAMS)
  }
  const loops = [whole, single]
  const times: number[] = []
  for (const loop of loops) times.push(await warmUp(loop, options.warmMs, options.batchMs))
  const rounds: Batch[][] = []
  for (let turn = 0; turn < options.turns; turn++) {
    const round: Batch[] = []
    for (let at = 0; at < loops.length; at++) {
      const one = (at + turn) % loops.length
      round[one] = await batch(loops[one] as Loop, times[one] as number)
    }
    rounds.push(round)
  }
  await manager.close()
  const middle = (of: (whole: number, direct: number) => number): number =>
    median(rounds.map(([one, other]) => of(one?.wallUs ?? 0, other?.wallUs ?? 0)))
  return {
    pipelineUs: middle((one) => one),
    directUs: middle((_, other) => other),
    ratio: middle((one, other) => one / other),
    overheadUs: middle((one, other) => (one - other) / count),
  }
}
