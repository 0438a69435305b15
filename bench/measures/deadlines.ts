import { toolyard, weatherTool } from '../toolyard.ts'
import { handler, PARAMS } from '../weather.ts'

export interface DeadlinesOptions {
  readonly times: number
}

/** Milliseconds, one entry for each time. */
export interface DeadlinesResult {
  /** When the envelope of a handler that loops forever arrived, its deadline being 200 ms. */
  readonly looping: readonly number[]
  /** The longest that an echo beside it waited, from the turn it was due to its answer. */
  readonly besideLooping: readonly number[]
  /** When the envelope of a handler that ignores its signal arrived, its deadline being 100 ms. */
  readonly ignoring: readonly number[]
}

const ISOLATED = new URL('../handlers/isolated.ts', import.meta.url).href

export async function deadlines({ times }: DeadlinesOptions): Promise<DeadlinesResult> {
  const manager = await toolyard(
    [
      weatherTool({ name: 'echo' }),
      weatherTool({ name: 'warm', implementation: { type: 'internal', handler: 'warm' } }),
      weatherTool({ name: 'loop', timeout_ms: 200, implementation: { type: 'internal', handler: 'loop' } }),
      weatherTool({ name: 'ignore', timeout_ms: 100, implementation: { type: 'internal', handler: 'ignore' } }),
    ],
    {
      weather: handler,
      warm: { module: ISOLATED, export: 'weather' },
      loop: { module: ISOLATED, export: 'loopForEver' },
      ignore: () => new Promise(() => {}),
    },
  )
  const executor = manager.getExecutor()
  const timed = async (name: string) => {
    const started = performance.now()
    const answer = await executor.execute(name, PARAMS)
    const took = performance.now() - started
    const expected = name === 'loop' || name === 'ignore' ? 'TIMEOUT' : undefined
    const code = answer.success ? undefined : answer.error_code
    if (code !== expected) throw new Error(`'${name}' answered ${JSON.stringify(answer)}.`)
    return took
  }

  const looping: number[] = []
  const besideLooping: number[] = []
  const ignoring: number[] = []
  await timed('echo')
  for (let i = 0; i < times; i++) {
    // The first call after a kill finds a fresh process: the deadline is then of the handler, not of the start.
    await timed('warm')
    const loop = { running: true }
    const beside = echoBeside(loop, () => timed('echo'))
    looping.push(await timed('loop'))
    loop.running = false
    besideLooping.push(await beside)
    ignoring.push(await timed('ignore'))
  }
  return { looping, besideLooping, ignoring }
}

async function echoBeside(loop: { running: boolean }, echo: () => Promise<number>): Promise<number> {
  let longest = 0
  while (loop.running) {
    const due = performance.now()
    await new Promise((resolve) => setImmediate(resolve))
    await echo()
    longest = Math.max(longest, performance.now() - due)
  }
  return longest
}
