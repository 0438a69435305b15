import { describe, expect, test, vi } from 'vitest'
import { later } from '../../core/fixtures/code-yard.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import type { ModelEvent } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { retrying } from './provider-client.ts'

const busy = new ModelError('Busy', { status: 429, retryable: true })
const finish: ModelEvent = { type: 'finish', reason: 'stop' }

/** Asks with these outcomes, one an attempt, and moves time on by `stepMs` until there is an end. */
async function outcome(outcomes: readonly (Error | readonly ModelEvent[])[], stepMs = 100, signal = neverAborted) {
  const clock = new ManualClock()
  const log = captureLog()
  let made = 0
  async function* attempt(): AsyncGenerator<ModelEvent> {
    const next = outcomes[made++]
    if (next instanceof Error) throw next
    for (const event of next ?? []) {
      if (event instanceof Error) throw event
      yield event
    }
  }
  const start = clock.now()
  const drained = Array.fromAsync(retrying(attempt, { clock, log, budgetMs: 60_000, signal, random: () => 1 }))
  const settled = vi.fn()
  drained.then(settled, settled)
  for (let step = 0; step < 2_000 && settled.mock.calls.length === 0; step++) {
    await later(0)
    if (settled.mock.calls.length === 0) clock.advance(stepMs)
  }
  const result = await drained.catch((error: unknown) => error)
  return { result, made, ms: clock.now() - start, waits: log.at('warn').map(({ wait_ms }) => wait_ms) }
}
const neverAborted = new AbortController().signal

describe('asking again', () => {
  test('with growing pauses, until it works', async () => {
    const { result, made, waits } = await outcome([busy, busy, busy, [finish]])
    expect([result, made, waits]).toEqual([[finish], 4, [500, 1_000, 2_000]])
  })

  test('four times in all, then the failure is final', async () => {
    const { result, made } = await outcome([busy, busy, busy, busy, [finish]])
    expect([result, made]).toEqual([busy, 4])
  })

  test('after as long as the provider asks for', async () => {
    const patient = new ModelError('Busy', { status: 429, retryable: true, retryAfterMs: 7_000 })
    const { made, waits } = await outcome([patient, [finish]])
    expect([made, waits]).toEqual([2, [7_000]])
  })

  test('not where the provider asks for more time than there is', async () => {
    const patient = new ModelError('Busy', { status: 429, retryable: true, retryAfterMs: 61_000 })
    const { result, made, ms } = await outcome([patient, [finish]])
    expect([result, made, ms]).toEqual([patient, 1, 0])
  })

  test('not where it cannot help', async () => {
    const wrong = new ModelError('No such model', { status: 404 })
    expect(await outcome([wrong, [finish]])).toMatchObject({ result: wrong, made: 1 })
    const bug = new TypeError('bug')
    expect(await outcome([bug, [finish]])).toMatchObject({ result: bug, made: 1 })
  })

  test('not once something has arrived', async () => {
    const cut = [{ type: 'text-delta', text: 'He' }, busy] as unknown as ModelEvent[]
    expect(await outcome([cut, [finish]])).toMatchObject({ result: busy, made: 1 })
  })

  test('an abort ends the pause', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('gone')), 20)
    const { result, made } = await outcome([busy, [finish]], 0.1, controller.signal)
    expect(result).toEqual(new Error('gone'))
    expect(made).toBe(1)
  })
})
