import { expect, test, vi } from 'vitest'
import type { Allowance } from '../core/call-context.ts'
import type { Handler } from '../core/handler.ts'
import { type GivenTurn, scripted } from '../testing/stand-ins.ts'
import { GO, loopSetup, told } from './fixtures/loop-setup.ts'
import type { Journal, JournalStep } from './journal.ts'
import type { RunRequest } from './run.ts'

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const look = (n: number) => ({ name: 'look', id: `look-${n}`, arguments: { n } })
const TURNS: readonly GivenTurn[] = [
  {
    text: 'I look.',
    calls: [look(1), look(2), { name: 'pay', id: 'a', arguments: { n: 1 } }],
    usage,
    metadata: { secret: 'x' },
  },
  {
    calls: [
      { name: 'pay', id: 'b', arguments: { n: 2 } },
      { name: 'gone', id: 'c' },
    ],
    usage,
  },
  { text: 'Done.', usage },
]

/** A loop whose steps are stored in a list. Each `run` stands for a new process. */
function durableSetup() {
  const setup = loopSetup()
  const pay = vi.fn((params: unknown) => ({ paid: params }))
  setup.add('look', ({ n }) => ({ seen: n }), { effect: 'read' })
  setup.add('pay', pay)
  const steps: JournalStep[] = []
  const models: ReturnType<typeof scripted>[] = []
  const run = (
    turns: readonly GivenTurn[],
    dieAt = Number.POSITIVE_INFINITY,
    { allowance, ...more }: Partial<RunRequest> & { readonly allowance?: Allowance } = {},
  ) => {
    const model = scripted(...turns)
    models.push(model)
    const journal: Journal = {
      steps: structuredClone(steps),
      keyed: true,
      async append(step) {
        if (steps.length >= dieAt) throw new Error('killed')
        steps.push(structuredClone(step))
      },
    }
    const context = { runId: 'r1', caller: 'key-1', allowance }
    return { model, answer: told(setup.loop.run({ model, messages: GO, context, journal, ...more })) }
  }
  return { ...setup, pay, steps, models, run }
}

const untimed = (value: unknown): string => JSON.stringify(value).replaceAll(/execution_time_ms\\*":[\d.]+/g, '')

test('stores an answer with its calls, then the results, and nothing for the last turn', async () => {
  const { run, steps } = durableSetup()
  await run(TURNS).answer
  expect(steps.map(({ kind }) => kind)).toEqual(['answer', 'results', 'answer', 'results'])
  expect(steps[0]).toMatchObject({ text: 'I look.', usage, metadata: { secret: 'x' } })
})

test.each([0, 1, 2, 3, 4])('ends with the same answer after a crash with %d stored steps', async (stored) => {
  const whole = durableSetup()
  const expected = await whole.run(TURNS).answer
  const { run, pay, steps } = durableSetup()
  const first = run(TURNS, stored)
  // With all steps stored, the last answer was lost.
  if (stored < 4) await expect(first.answer).rejects.toThrow('killed')
  else await first.answer
  const answers = steps.filter(({ kind }) => kind === 'answer').length
  const second = run(TURNS.slice(answers))
  const { answer, messages } = await second.answer
  expect(untimed(answer)).toEqual(untimed(expected.answer))
  expect(untimed(messages)).toEqual(untimed(expected.messages))
  expect(second.model.requests).toHaveLength(3 - answers)
  expect(pay.mock.calls.map(([params]) => params)).toEqual([{ n: 1 }, { n: 2 }])
})

test('counts only working time against the time limit', async () => {
  const { run, steps } = durableSetup()
  await run(TURNS).answer
  steps.splice(2)
  steps[1] = { ...(steps[1] as JournalStep), used_ms: 60_000 }
  const { answer } = await run(['Too late.'], 9, { budget: { wall_time_ms: 60_000 } }).answer
  expect(answer).toMatchObject({ stop_reason: 'timeout', tool_calls: { length: 3 } })
  steps[1] = { ...(steps[1] as JournalStep), used_ms: 1_000 }
  expect((await run(['In time.'], 9, { budget: { wall_time_ms: 60_000 } }).answer).answer.stop_reason).toBe('stop')
})

test.each([
  ['must call a tool', { tool_choice: 'required' as const }, TURNS],
  ['must answer with JSON', { output: { schema: { type: 'object', required: ['town'] } } }, ['{"town": "Oslo"}']],
])('a model that %s is corrected once, also if the run continues', async (_demand, demand, turns) => {
  const whole = durableSetup()
  const expected = await whole.run(['Nothing to do.', ...turns], 9, demand).answer
  const { run, steps } = durableSetup()
  const first = run(['Nothing to do.', 'killed'], 1, { ...demand, max_iterations: 9 })
  await first.answer.catch(() => {})
  expect(steps).toMatchObject([{ kind: 'answer', text: 'Nothing to do.', calls: [], again: expect.any(String) }])
  const second = run(turns, 9, demand)
  const { answer, messages } = await second.answer
  expect([untimed(answer), untimed(messages)]).toEqual([untimed(expected.answer), untimed(expected.messages)])
  expect(second.model.requests[0]?.messages).toEqual(whole.models[0]?.requests[1]?.messages)
  // It had its second attempt.
  steps.splice(1)
  const { answer: refused } = await run(['Still nothing.'], 9, demand).answer
  expect(refused).toMatchObject({ stop_reason: 'error', error_status: 422 })
})

test('a run that continues has spent what it and its agents had spent', async () => {
  const { run, steps, add } = durableSetup()
  const spend: Handler = (_params, { child }) => child?.().allowance?.charge({ tokens: 4_000, cost: 0 })
  add('agent', spend, { effect: 'read', implementation: { type: 'kind', run: spend } })
  const outer = { left: () => ({ tokens: 9_000, cost: Number.POSITIVE_INFINITY }), hold: vi.fn(), charge: vi.fn() }
  const budget = { budget: { tokens: 5_000 }, allowance: outer }
  const turns = [
    { calls: [{ name: 'agent', id: 'a' }], usage },
    { calls: [{ name: 'agent', id: 'b' }], usage },
  ]
  await expect(run(turns, 2, budget).answer).rejects.toThrow('killed')
  expect(steps[1]).toMatchObject({ kind: 'results', spent: { tokens: 4_005, cost: 0 } })
  expect(outer.charge.mock.calls).toEqual([
    [{ tokens: 5, cost: 0 }],
    [{ tokens: 4_000, cost: 0 }],
    [{ tokens: 5, cost: 0 }],
  ])
  outer.charge.mockClear()
  const { model, answer } = run([turns[1] as GivenTurn, 'Enough.'], 9, budget)
  expect((await answer).answer).toMatchObject({ stop_reason: 'budget' })
  expect(model.requests[0]?.max_tokens).toBeLessThan(1_000)
  // What was spent before is not charged again.
  expect(outer.charge.mock.calls[0]).toEqual([{ tokens: 5, cost: 0 }])
})

test('refuses repeated calls after a crash as before it', async () => {
  const same = { calls: [{ name: 'pay', arguments: { n: 1 } }] }
  const { run, pay, steps } = durableSetup()
  await expect(run([same, same, same, same], 5).answer).rejects.toThrow('killed')
  expect(steps).toHaveLength(5)
  const { answer } = await run([same, 'Enough.']).answer
  expect(answer.stop_reason).toBe('repeated_calls')
  expect(answer.tool_calls.map(({ not_run = false }) => not_run)).toEqual([false, false, true, true])
  expect(pay).toHaveBeenCalledTimes(2)
})

test('a run that continues calls the version that it was offered, even if another is current or it is deprecated', async () => {
  const { registry, run, steps, add } = durableSetup()
  const ran: string[] = []
  const version = (text: string, more: object = {}) => {
    add('greet', () => void ran.push(text), { version: text, parameters: { type: 'object' }, ...more })
  }
  version('1.0.0')
  const turns = [{ calls: [{ name: 'greet', id: 'a' }] }, { calls: [{ name: 'greet', id: 'b' }] }, 'Done.']
  // Killed after the first answer was stored.
  await run(turns, 1).answer.catch(() => {})
  expect(steps).toMatchObject([{ kind: 'answer', versions: { greet: '1.0.0' } }])
  ran.length = 0
  version('2.0.0')
  version('1.0.0', { deprecated: {} })
  await run(turns.slice(1)).answer
  expect(ran).toEqual(['1.0.0'])
  expect(registry.definitions().find(({ name }) => name === 'greet')).toMatchObject({ version: '2.0.0' })
})

test('claims depend on the effect of the offered version', async () => {
  const { registry, add, loop } = loopSetup()
  add('save', () => 1, { version: '1.0.0', effect: 'read' })
  add('save', () => 1, { version: '2.0.0', effect: 'write' })
  registry.rollOut(new Map([['save', { current: '1.0.0', candidate: '2.0.0', percent: 100 }]]))
  const hows: unknown[] = []
  const append = async (_step: JournalStep, how?: string) => void hows.push(how)
  const model = scripted({ calls: [{ name: 'save', id: 'a' }] }, 'Done.')
  await told(loop.run({ model, messages: GO, context: { runId: 'r' }, journal: { steps: [], keyed: true, append } }))
  expect(hows[0]).toBe('claims')
})
