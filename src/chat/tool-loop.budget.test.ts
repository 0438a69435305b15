import { describe, expect, test } from 'vitest'
import type { Budgets } from '../core/costs.ts'
import { later, never } from '../core/fixtures/code-yard.ts'
import { image } from '../core/fixtures/media.ts'
import type { Model } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { turnCost } from '../models/model-info.ts'
import { ManualClock, scripted } from '../testing/stand-ins.ts'
import { call, GO, loopSetup, told, wellFormed } from './fixtures/loop-setup.ts'
import { RunBudget } from './run-budget.ts'

const spent = (prompt_tokens: number, completion_tokens: number) => ({
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
})
const city = (n: number) => call('weather', { n })

function weatherYard(options: Parameters<typeof loopSetup>[0] = {}) {
  const yard = loopSetup(options)
  yard.add('weather', () => 'blue')
  return yard
}

describe('a token budget', () => {
  test('reserves tokens for a final answer', async () => {
    const { loop } = weatherYard()
    const model = scripted({ ...city(1), ...spent(1_000, 50) }, { ...city(2), ...spent(1_200, 50) }, 'Blue so far.')
    const answer = await loop.answer({ model, messages: GO, budget: { tokens: 4_000 } })
    expect(answer).toMatchObject({ stop_reason: 'budget', content: 'Blue so far.' })
    expect(model.requests.at(-1)?.tools).toEqual([])
  })

  test('counts an image as 5000 tokens, whatever its size', async () => {
    const { loop } = loopSetup()
    const messages = [{ role: 'user', content: [image] } as const]
    const stopped = async (tokens: number) =>
      (await loop.answer({ model: scripted('Grey.'), messages, budget: { tokens } })).stop_reason
    expect([await stopped(5_000), await stopped(6_000)]).toEqual(['budget', 'stop'])
  })

  test('limits each turn to the remaining tokens', async () => {
    const { loop } = weatherYard()
    const model = scripted({ ...city(1), ...spent(1_000, 50) }, 'Done.')
    await loop.answer({ model, messages: GO, budget: { tokens: 10_000 }, max_tokens: 8_500 })
    const [first, second] = model.requests.map(({ max_tokens }) => max_tokens ?? Number.POSITIVE_INFINITY)
    expect(first).toBeLessThanOrEqual(8_500)
    expect(second).toBeLessThanOrEqual(10_000 - 1_050 - 1_050)
    expect(second).toBeGreaterThan(5_000)
  })

  test('names the limit if no tokens are left for a final answer', async () => {
    const { loop } = weatherYard()
    const model = scripted({ ...city(1), ...spent(1_900, 50) }, 'Never said.')
    const { answer, messages } = await told(loop.run({ model, messages: GO, budget: { tokens: 2_000 } }))
    expect(answer.content).toBe(
      'I reached the limit of 2000 tokens before I could finish. Please ask for less at a time, or raise the limit.',
    )
    expect(model.requests).toHaveLength(1)
    expect(wellFormed(messages)).toBe(true)
  })

  test('asks no model if it is too small', async () => {
    const { loop } = weatherYard()
    const model = scripted('Never said.')
    expect(await loop.answer({ model, messages: GO, budget: { tokens: 100 } })).toMatchObject({ stop_reason: 'budget' })
    expect(model.requests).toHaveLength(0)
  })

  test('is never exceeded, even without usage from the provider', async () => {
    for (const counts of [true, false]) {
      for (const tokens of [1_500, 3_000, 10_000]) {
        const { loop } = weatherYard()
        let used = 0
        const model: Model = {
          id: 'count:er',
          async *stream({ messages, tools, max_tokens = 0 }) {
            // One token per byte is the worst case.
            const prompt = Buffer.byteLength(JSON.stringify([messages.map(({ content }) => content)])) + tools.length
            used += prompt + max_tokens
            const id = `${used}`
            yield {
              type: 'tool-call-end',
              call: { id, type: 'function', function: { name: 'weather', arguments: `{"n":${used}}` } },
            }
            const usage = { prompt_tokens: prompt, completion_tokens: max_tokens, total_tokens: prompt + max_tokens }
            yield { type: 'finish', reason: 'tool_calls', ...(counts && { usage }) }
            // Without usage, the loop counts bytes.
            if (!counts) used += id.length + 20 - max_tokens
          },
        }
        await loop.answer({ model, messages: GO, budget: { tokens }, max_tokens: 200, max_iterations: 100 })
        expect(used).toBeLessThanOrEqual(tokens)
      }
    }
  })
})

describe('a cost budget', () => {
  const prices = { input: 1_000, output: 2_000 }

  test('counts no usage that is not a number of tokens', async () => {
    const prices = { input: 1, output: 1 }
    for (const wrong of [Number.NaN, -1_000_000, Number.MAX_VALUE, '5' as unknown as number]) {
      const usage = { prompt_tokens: wrong, completion_tokens: 5, total_tokens: 10 }
      expect(turnCost(prices, usage)).toBe(undefined)
      const { loop } = weatherYard()
      const model = scripted({ ...city(1), usage }, 'Blue.')
      const answer = await loop.answer({ model, messages: GO, prices, budget: { cost: 1 } })
      expect([answer.usage, answer.cost]).toEqual([undefined, undefined])
      expect(model.requests.at(-1)?.max_tokens).toBeGreaterThan(0)
      expect(model.requests.at(-1)?.max_tokens).toBeLessThan(1_000_000)
    }
  })

  test("uses the model's prices", async () => {
    const { loop } = weatherYard()
    const model = scripted({ ...city(1), ...spent(1_000, 100) }, { text: 'Blue.', ...spent(1_200, 10) })
    const answer = await loop.answer({ model, messages: GO, budget: { cost: 2.7 }, prices })
    expect(answer).toMatchObject({ stop_reason: 'budget', content: 'Blue.' })
    expect(answer.cost).toBeCloseTo(2.42)
  })

  test('names the limit when it is exhausted', async () => {
    const { loop } = weatherYard()
    const model = scripted({ ...city(1), ...spent(1_000, 400) }, 'Never said.')
    const { content } = await loop.answer({ model, messages: GO, budget: { cost: 2 }, prices })
    expect(content).toContain('the cost limit of 2')
    expect(model.requests).toHaveLength(1)
  })

  test('is rejected without prices', async () => {
    const { loop } = weatherYard()
    const run = loop.answer({ model: scripted('Hello.'), messages: GO, budget: { cost: 2 } })
    await expect(run).rejects.toThrow('models[].prices')
  })

  test('does not limit a free model', async () => {
    const { loop } = weatherYard()
    const run = { model: scripted(city(1), 'Blue.'), messages: GO, budget: { cost: 1 } }
    expect(await loop.answer({ ...run, prices: { input: 0, output: 0 } })).toMatchObject({ content: 'Blue.' })
  })
})

describe('a time budget', () => {
  test('cancels calls and turns in time for a final answer', async () => {
    const clock = new ManualClock()
    const { loop, add } = loopSetup({ clock })
    add('hang', never, { timeout_ms: 600_000 })
    const model = scripted(call('hang'), 'It hung.')
    const run = loop.answer({ model, messages: GO, budget: { wall_time_ms: 20_000 } })
    await later(5)
    clock.advance(15_000)
    const answer = await run
    expect(answer).toMatchObject({ stop_reason: 'timeout', content: 'It hung.' })
    expect(answer.tool_calls[0]?.result).toMatchObject({ error_code: 'CANCELLED', outcome: 'unknown' })
  })

  test('names the limit if the final answer takes too long', async () => {
    const clock = new ManualClock()
    const { loop, add } = loopSetup({ clock })
    add('hang', never)
    const model = scripted(call('hang'), { delayMs: 10_000, clock, text: 'Never said.' })
    const run = loop.answer({ model, messages: GO, budget: { wall_time_ms: 20_000 } })
    await later(5)
    clock.advance(15_000)
    await later(5)
    clock.advance(5_000)
    expect((await run).content).toContain('the time limit of 20 s')
    expect(clock.pending).toBeLessThanOrEqual(1)
  })

  test('has no reserve if it is too short', async () => {
    const { loop, add } = loopSetup()
    add('hang', never)
    const model = scripted(call('hang'), 'Never said.')
    const answer = await loop.answer({ model, messages: GO, budget: { wall_time_ms: 60 } })
    expect(answer).toMatchObject({ stop_reason: 'timeout', content: expect.stringContaining('0.06 s') })
    expect(model.requests).toHaveLength(1)
  })
})

describe('the budget of a run that agents spend from', () => {
  const prices = { input: 1, output: 1 }
  const inner = (outer: RunBudget, limits = {}) =>
    new RunBudget(limits, prices, [{ role: 'user', content: 'Go' }], [], outer)

  test('is never exceeded by agents that run at once', () => {
    const outer = new RunBudget({ tokens: 10_000 }, prices, [], [])
    const first = inner(outer).allow(undefined, false) as number
    const second = inner(outer).allow(undefined, false)
    expect(first).toBeGreaterThan(5_000)
    expect(second).toEqual({ limit: 'the token limit of the run that called me' })
  })

  test('gets back what a request has not used', () => {
    const outer = new RunBudget({ tokens: 10_000, cost: 1 }, prices, [], [])
    const before = outer.left()
    const agent = inner(outer, { tokens: 2_000 })
    expect(agent.allow(undefined, false)).toBeLessThan(2_000)
    expect(outer.left().tokens).toBeLessThan(before.tokens)
    agent.spend({ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }, '')
    expect(outer.left().tokens).toBe(before.tokens - 120)
    agent.allow(undefined, false)
    agent.release()
    expect(outer.left().tokens).toBe(before.tokens - 120)
  })

  test('needs prices for a cost limit of the caller', () => {
    const outer = new RunBudget({ cost: 1 }, prices, [], [])
    expect(() => new RunBudget({}, undefined, [], [], outer)).toThrow('needs the prices of the model')
  })
})

test('a turn counts against budgets if its caller leaves, is cancelled or gets no usage, and not if the provider refuses', async () => {
  const turns: (number | undefined)[][] = []
  const budgets: Budgets = {
    take: async () => ({ hold: undefined, warnings: [] }),
    turn: (_, cost, _hold, estimate) => void turns.push([cost, estimate]),
  }
  const prices = { input: 1, output: 1_000 }
  const { loop } = loopSetup({ budgets })
  const abort = new AbortController()
  for await (const _ of loop.run({ model: scripted('Blue.'), messages: GO, prices })) break
  await loop.answer({ model: scripted('Blue.'), messages: GO, prices })
  const cancelled = scripted(() => {
    abort.abort()
    return 'Blue.'
  })
  await loop.answer({ model: cancelled, messages: GO, prices, context: { signal: abort.signal } })
  for (const [cost, estimate] of turns) expect([cost, (estimate ?? 0) > 0]).toEqual([undefined, true])
  expect(turns).toHaveLength(3)
  await loop.answer({ model: scripted(new ModelError('no', { status: 401 })), messages: GO, prices })
  await loop.answer({ model: scripted({ text: 'Blue.', ...spent(10, 1) }), messages: GO, prices })
  expect(turns.slice(3)).toEqual([
    [undefined, undefined],
    [1_010, undefined],
  ])
})
