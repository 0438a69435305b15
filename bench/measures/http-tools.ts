import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { inTurns, type Pairs } from '../batches.ts'
import { ANSWER } from '../http-tools/answer.ts'
import { toolyard } from '../toolyard.ts'

const API = fileURLToPath(new URL('../http-tools/api.ts', import.meta.url))
const IN_FLIGHT = 32

export interface HttpToolsOptions {
  readonly pairs: number
  readonly batchMs: number
  readonly warmMs: number
}

type Ask = () => Promise<unknown>

/** An HTTP tool, guarded, against a plain request of the same client to the same server. */
export async function httpTools({ pairs, batchMs, warmMs }: HttpToolsOptions): Promise<Pairs> {
  const api = fork(API, { execArgv: ['--disable-warning=ExperimentalWarning'] })
  const [port] = (await once(api, 'message')) as [number]
  const url = `http://127.0.0.1:${port}/weather`
  const agent = new Agent({ connections: IN_FLIGHT })
  // No two calls are alike: those that are may share one request.
  let city = 0
  const plain: Ask = async () => {
    const { body } = await request(`${url}?city=${city++}`, { dispatcher: agent })
    return body.json()
  }
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const tool = { name: 'weather', description: 'The weather', parameters, implementation: { type: 'http', url } }
  const manager = await toolyard([tool], {}, {}, { http: { allow_private: ['127.0.0.1/32'] } })
  const executor = manager.getExecutor()
  const ours: Ask = () => executor.execute('weather', { city: String(city++) })
  for (const ask of [plain, ours]) {
    const answer = JSON.stringify(await ask())
    if (!answer.includes(JSON.stringify(ANSWER))) throw new Error(`The answer is not as expected: ${answer}`)
  }
  try {
    return await inTurns(inFlight(plain), inFlight(ours), pairs, batchMs, warmMs)
  } finally {
    await Promise.all([manager.close(), agent.close()])
    api.disconnect()
  }
}

/** So many requests at any time, as long as there are calls left. */
const inFlight =
  (ask: Ask) =>
  async (calls: number): Promise<void> => {
    let left = calls
    const worker = async () => {
      while (left-- > 0) await ask()
    }
    await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, calls) }, worker))
  }
