import assert from 'node:assert/strict'
import type { Change } from '../../../src/core/storage/storage.ts'
import { type Clauses, until } from './contract-store.ts'
import { approve, pauseRequest } from './pause-clauses.ts'

const test = { timestamp: '2026-01-01T00:00:00.000Z', success: true }

export const changeClauses: Clauses = {
  'changes: every instance is notified, the writer too': async (store) => {
    const [writer, reader] = await store.openTwo()
    const [own, others]: [Set<Change>, Set<Change>] = [new Set(), new Set()]
    writer.onChange((change) => own.add(change))
    reader.onChange((change) => others.add(change))
    const writes: [Change, () => Promise<unknown>][] = [
      ['settings', () => writer.settings.put({ kind: 'tenant', name: 'acme', value: 1 })],
      ['settings', () => writer.settings.remove('tenant', 'acme')],
      ['validations', () => writer.validations.record('acme', 'm', test)],
      ['validations', () => writer.validations.replace('acme', [])],
      ['validations', () => writer.toolUse.add([USE])],
      ['pauses', () => writer.pauses.ask(pauseRequest('one'), 1)],
      ['pauses', () => writer.pauses.decide('acme', 'one', approve())],
      ['keys', () => writer.keys.create(KEY)],
      ['keys', () => writer.keys.change(KEY, { ...KEY, name: 'renamed' })],
      ['keys', () => writer.keys.revoke(KEY.id, '2026-02-01T00:00:00.000Z')],
    ]
    for (const [topic, write] of writes) {
      // What is still on its way from the write before must not be taken for this one.
      await new Promise((resolve) => setTimeout(resolve, 50))
      own.clear()
      others.clear()
      await write()
      await until(`news of ${topic}`, () => own.has(topic) && others.has(topic))
    }
  },

  'changes: an announced change can be read': async (store) => {
    const [writer, reader] = await store.openTwo()
    const heard = new Promise<unknown>((resolve) => {
      reader.onChange((change) => change === 'settings' && resolve(reader.settings.list('tenant')))
    })
    const setting = { kind: 'tenant', name: 'acme', value: { flags: { add: false } } } as const
    await writer.settings.put(setting)
    assert.deepEqual(await heard, [setting])
  },

  'changes: other writes are not announced': async (store) => {
    const [writer, reader] = await store.openTwo()
    const heard: Change[] = []
    reader.onChange((change) => heard.push(change))
    await writer.ledger.append([], [])
    await writer.once.claim({ tenant: 't', caller: 'c', key: 'k', fingerprint: 'f', expiresAt: Date.now() + 60_000 })
    await writer.keys.create(KEY)
    await until('news of keys', () => heard.includes('keys'))
    assert.deepEqual(new Set(heard), new Set(['keys']))
  },

  'changes: a removed listener is not called, and one that throws does not affect others': async (store) => {
    const storage = await store.open()
    const heard: string[] = []
    const stop = storage.onChange(() => heard.push('stopped'))
    storage.onChange(() => {
      throw new Error('a listener that fails')
    })
    storage.onChange(() => heard.push('listening'))
    stop()
    await storage.keys.create(KEY)
    await until('news of keys', () => heard.includes('listening'))
    assert.ok(!heard.includes('stopped'))
  },
}

const KEY = {
  id: 'one',
  hash: 'hash',
  tenant: 'acme',
  name: 'a key',
  role: 'user',
  scopes: null,
  tools: null,
  models: null,
  calls_per_minute: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
  revoked_at: null,
  created_by: null,
} as const

const USE = {
  tenant: 'acme',
  model_id: 'm',
  tool: 't',
  schema_hash: '',
  suite: { trials: 1, successes: 1 },
  run: { trials: 0, successes: 0 },
  last_used: '2026-01-01T00:00:00.000Z',
  failure_kinds: {},
  failures: [],
}
