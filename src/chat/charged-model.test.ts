import { expect, test, vi } from 'vitest'
import type { Allowance } from '../core/call-context.ts'
import type { Budgets } from '../core/costs.ts'
import { AbortableStream } from '../models/abortable-stream.ts'
import type { Model } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { type GivenTurn, scripted } from '../testing/stand-ins.ts'
import { chargedModel } from './charged-model.ts'

const PRICES = { input: 1, output: 1 }
const HOLD = { id: 'held', micros: 500 }
const spender = { tenant: 'acme', keyId: 'ci' }
const request = { messages: [{ role: 'user', content: 'Hello' }], tools: [] } as const

function charged(model: Model, allowance?: Allowance) {
  const turn = vi.fn<Budgets['turn']>()
  const budgets = { take: async () => ({ hold: HOLD, warnings: [] }), turn }
  return { turn, model: chargedModel(model, { budgets, spender, prices: PRICES, allowance }) }
}

const payer = { ...spender, model: 'scripted:turns' }
const atLeast = (least: number) => expect.toSatisfy((micros: number) => micros >= least)

test.each<[what: string, turn: GivenTurn, cost: number | undefined, estimate: unknown]>([
  ['usage', { text: 'Hi', usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } }, 7, undefined],
  ['no usage', { text: 'Hi' }, undefined, atLeast(HOLD.micros)],
  ['a refusal', new ModelError('no', { status: 401 }), undefined, undefined],
  ['a timeout', new ModelError('late', { status: 504 }), undefined, atLeast(HOLD.micros)],
])('counts a turn with %s', async (_, given, cost, estimate) => {
  const { model, turn } = charged(scripted(given))
  await Array.fromAsync(model.stream(request)).catch(() => {})
  expect(turn.mock.calls).toEqual([[payer, cost, HOLD, estimate]])
})

test('counts a turn that its reader leaves, also if the provider ignores the signal', async () => {
  const hanging: Model = {
    id: 'scripted:turns',
    async *stream() {
      yield { type: 'text-delta', text: 'x'.repeat(1_000) }
      await new Promise(() => {})
    },
  }
  const { model, turn } = charged(hanging)
  const leaving = new AbortController()
  const reading = new AbortableStream(model.stream({ ...request, signal: leaving.signal }), leaving.signal)
  await reading.next()
  const next = reading.next()
  leaving.abort(new Error('left'))
  await expect(next).rejects.toThrow('left')
  expect(turn.mock.calls).toEqual([[payer, undefined, HOLD, atLeast(1_000)]])
})

test('asks nothing that the run may not spend, and nothing without prices in a run with a cost budget', async () => {
  const left = { tokens: 10, cost: Number.POSITIVE_INFINITY }
  const allowance: Allowance = { left: () => left, hold: vi.fn(), charge: vi.fn() }
  const asked = scripted('Hi')
  const read = (model: Model) => Array.fromAsync(model.stream(request))
  await expect(read(charged(asked, allowance).model)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const limited = { ...allowance, left: () => ({ ...left, cost: 1 }) }
  const budgets = { take: () => undefined, turn: vi.fn() }
  const unpriced = chargedModel(asked, { budgets, spender, prices: undefined, allowance: limited })
  await expect(read(unpriced)).rejects.toThrow('needs the prices of model scripted:turns: set models[].prices')
  expect(asked.requests).toEqual([])
})
