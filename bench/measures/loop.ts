import { inTurns, type Pairs, warmUp } from '../batches.ts'
import { handWrittenLoop } from '../hand-written-loop.ts'
import type { PreparedRun } from '../loop-contender.ts'
import { loopContenders } from '../loop-contenders/index.ts'
import { ANSWER } from '../loop-script.ts'
import type { LoopShape } from '../loop-shape.ts'
import { handler, WEATHER } from '../weather.ts'

export interface LoopOptions {
  readonly id: string
  readonly shapes: readonly LoopShape[]
  readonly pairs: number
  readonly batchMs: number
  readonly warmMs: number
  /** Spent once, before anything is measured: a framework has far more code to compile than a loop has. */
  readonly firstWarmMs: number
}

export interface LoopResult {
  /** One for each shape, in their order. */
  readonly shapes: readonly Pairs[]
  /** Whether wrong parameters kept the handler from running. */
  readonly validates: boolean
}

/** One contender against the hand-written loop, in this process, over all shapes. */
export async function loop(options: LoopOptions): Promise<LoopResult> {
  const { id, pairs, batchMs, warmMs } = options
  const shapes: Pairs[] = []
  for (const shape of options.shapes) {
    const run = repeated(await preparedRun(id, shape))
    if (shapes.length === 0) await warmUp(run, options.firstWarmMs, batchMs)
    const base = handWrittenLoop(shape, handler)
    const baseLoop = async (runs: number) => {
      for (let i = 0; i < runs; i++) await base()
    }
    shapes.push(await inTurns(baseLoop, run, pairs, batchMs, warmMs))
  }
  return { shapes, validates: await validates(id) }
}

/** Runs it so many times, one after the other. */
export const repeated = (run: PreparedRun) => async (runs: number) => {
  for (let i = 0; i < runs; i++) await run()
}

/** A contender made ready for a shape, seen to do its work: every call ran, and the answer came through. */
export async function preparedRun(id: string, shape: LoopShape): Promise<PreparedRun> {
  let ran = 0
  const run = await contender(id).prepare(shape, async () => {
    ran++
    return WEATHER
  })
  const text = await run()
  if (text !== ANSWER || ran !== shape.turns * shape.calls) {
    throw new Error(`'${id}' did not do its work: ${ran} calls of ${JSON.stringify(shape)} ran, and it said '${text}'.`)
  }
  return run
}

async function validates(id: string): Promise<boolean> {
  let ran = false
  const run = await contender(id).prepare({ turns: 1, calls: 1, tools: 1, wrong: true }, async () => {
    ran = true
    return WEATHER
  })
  await run().catch(() => undefined)
  return !ran
}

function contender(id: string) {
  const found = loopContenders.find((each) => each.id === id)
  if (found === undefined) throw new Error(`There is no loop '${id}'.`)
  return found
}
