import { setImmediate as turn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { OnceState, OnceStore } from '../../core/once-store.ts'
import type { DurableRun, DurableRunStore } from '../../core/storage/durable-run-store.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { LostRun, RunLedger } from './owned-runs.ts'

const step = { kind: 'answer', data: '', shown: '[]' }
const claim = (key: string) => ({ tenant: 'acme', caller: 'k', key, fingerprint: 'f', expiresAt: 1 })
const result = { success: true, result: 1, tool_name: 'pay', execution_time_ms: 1 } as const

function openLedger() {
  const begun = Promise.withResolvers<readonly OnceState[] | undefined>()
  const store = { begin: vi.fn(() => begun.promise), append: vi.fn(async () => true) }
  const fresh: OnceState = { state: 'fresh' }
  const once = {
    claim: vi.fn(async () => fresh),
    look: vi.fn(async () => fresh),
    settle: vi.fn(async () => {}),
    release: vi.fn(async () => {}),
  }
  const options = {
    store: store as unknown as DurableRunStore,
    once: once satisfies OnceStore,
    clock: systemClock,
    log: captureLog(),
  }
  return { ledger: new RunLedger({ id: 'r', fence: 1 } as DurableRun, options), begun, store, once, fresh }
}

test('a key that is claimed after the tick of the answer is claimed when the answer is stored', async () => {
  const { ledger, begun, store, once, fresh } = openLedger()
  ledger.begin(step)
  const early = ledger.claim(claim('early'))
  await turn()
  const late = ledger.claim(claim('late'))
  await turn()
  expect(store.begin.mock.calls).toMatchObject([['r', 1, step, expect.any(Number), [{ key: 'early' }]]])
  expect(once.claim).not.toHaveBeenCalled()
  begun.resolve([fresh])
  expect(await Promise.all([early, late])).toEqual([fresh, fresh])
  expect(store.begin.mock.calls.slice(1)).toMatchObject([['r', 1, undefined, expect.any(Number), [{ key: 'late' }]]])
  expect(once.claim).not.toHaveBeenCalled()
})

test('no key is claimed late by a server that has lost the run', async () => {
  const { ledger, begun, once } = openLedger()
  begun.resolve(undefined)
  await expect(ledger.claim(claim('late'))).rejects.toThrow(LostRun)
  expect(once.claim).not.toHaveBeenCalled()
})

test('keys are looked at when the answer is stored, and looking claims nothing', async () => {
  const { ledger, begun, store, once, fresh } = openLedger()
  ledger.begin(step)
  const looked = ledger.look(claim('a'))
  await turn()
  await turn()
  expect(once.look).not.toHaveBeenCalled()
  begun.resolve([])
  expect(await looked).toEqual(fresh)
  expect(store.begin.mock.calls).toMatchObject([['r', 1, step, expect.any(Number), []]])
  expect(once.claim).not.toHaveBeenCalled()
})

test('no key is claimed for an answer that another server has overtaken', async () => {
  const { ledger, begun, store, once } = openLedger()
  ledger.begin(step)
  const early = ledger.claim(claim('early'))
  await turn()
  const late = ledger.claim(claim('late'))
  begun.resolve(undefined)
  for (const each of [early, late, ledger.append(step)]) await expect(each).rejects.toThrow(LostRun)
  expect([once.claim.mock.calls, store.append.mock.calls]).toEqual([[], []])
})

test('results are stored with their step, or apart if the step is refused', async () => {
  const { ledger, store, once } = openLedger()
  await ledger.settle(claim('a'), result)
  await ledger.append(step)
  await turn()
  expect(store.append.mock.calls).toMatchObject([['r', 1, [step], expect.any(Number), [{ claim: { key: 'a' } }]]])
  expect(once.settle).not.toHaveBeenCalled()
  store.append.mockResolvedValueOnce(false)
  await ledger.settle(claim('b'), result)
  await expect(ledger.append(step)).rejects.toThrow(LostRun)
  expect(once.settle.mock.calls).toMatchObject([[{ key: 'b' }, result]])
})
