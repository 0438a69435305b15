import { expect, test, vi } from 'vitest'
import { silentLog } from '../../core/log.ts'
import type { Pause, PauseRequest, PauseStore } from '../../core/storage/pause-store.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { answerProblem, Questions } from './questions.ts'

const QUESTION = { kind: 'elicitation', server: 'files', tool: 'ask', tenant: 'acme', caller: 'ada' } as const
const never = new AbortController().signal

/** A store with one question, and an inbox that asks it. */
function open() {
  let pause: Pause | undefined
  const undecided = { decision: null, decided_params: null, decided_by: null, decided_by_name: null, decided_at: null }
  const pauses = {
    ask: vi.fn(async (request: PauseRequest) => {
      pause = { ...request, ...undecided, reason: null, begun_at: null }
      return { pause, isNew: true }
    }),
    get: vi.fn(async () => pause),
    begin: vi.fn(async () => true),
    decide: vi.fn(async () => true),
  }
  const clock = new ManualClock()
  const questions = new Questions({
    pauses: pauses as unknown as PauseStore,
    clock,
    log: silentLog,
    onAsk: () => {},
  })
  const answered = (decided: Partial<Pause>) => {
    pause = { ...(pause as Pause), ...decided }
  }
  return { questions, pauses, clock, answered }
}

test('finds an answer even if the notification of it was lost', async () => {
  const { questions, clock, answered, pauses } = open()
  const asked = questions.ask({ ...QUESTION, request: {} }, never)
  await vi.waitFor(() => expect(pauses.ask).toHaveBeenCalled())
  answered({ decision: 'approve', decided_params: { name: 'Ada' } })
  await clock.advance(5_000)
  expect(await asked).toEqual({ answer: { name: 'Ada' } })
  expect(pauses.begin).toHaveBeenCalledOnce()
})

test('a question that nobody answers expires after 10 minutes', async () => {
  const { questions, clock, pauses } = open()
  const asked = questions.ask({ ...QUESTION, request: {} }, never)
  await vi.waitFor(() => expect(pauses.ask).toHaveBeenCalled())
  let ended = false
  void asked.finally(() => {
    ended = true
  })
  await vi.waitFor(async () => {
    await clock.advance(60_000)
    expect(ended).toBe(true)
  })
  expect(await asked).toEqual({ expired: true })
  expect(clock.wall() - (pauses.ask.mock.calls[0]?.[0].requested_at ?? 0)).toBeGreaterThanOrEqual(600_000)
})

test('refuses a question that is too long to read, and asks nobody', async () => {
  const { questions, pauses } = open()
  const request = { message: 'x'.repeat(20_000) }
  await expect(questions.ask({ ...QUESTION, request }, never)).rejects.toThrow('A person reads 16384 characters')
  expect(pauses.ask).not.toHaveBeenCalled()
})

test('checks answers against the schema of the server, and refuses what it cannot check', () => {
  const requestedSchema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] }
  const question = { kind: 'elicitation', server: 'files', request: { requestedSchema } } as const
  expect(answerProblem(question, { age: 3 })).toBeUndefined()
  expect(answerProblem(question, {})).toBeDefined()
  expect(answerProblem(question, { age: 'x' })).toBeDefined()
  expect(answerProblem(question, [3])).toBe('params must be a JSON object')
  expect(answerProblem({ ...question, request: { requestedSchema: { type: 7 } } }, {})).toContain(
    'can only be declined',
  )
  const sampling = { kind: 'sampling', server: 'files', request: {} } as const
  expect(answerProblem(sampling, { text: 'ok' })).toBeUndefined()
  expect(answerProblem(sampling, { text: 'ok', model: 'x' })).toContain('params must be {"text"')
})
