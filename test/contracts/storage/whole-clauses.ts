import assert from 'node:assert/strict'
import { call } from '../../../src/storage/fixtures/call-entry.ts'
import { type Clauses, until } from './contract-store.ts'

/** What holds of a store as a whole. */
export const wholeClauses: Clauses = {
  'a store says that it is ready': async (store) => {
    const storage = await store.open()
    const { engine, ready, problem, vectors } = await storage.status()
    assert.deepEqual([ready, problem, typeof vectors], [true, undefined, 'boolean'])
    assert.ok(['sqlite', 'postgres'].includes(engine))
  },

  'a store can be closed twice, and answers nothing after': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([call()], [])
    await Promise.all([storage.close(), storage.close()])
    await storage.close()
    await assert.rejects(storage.keys.list())
    await assert.rejects(storage.ledger.append([call()], []))
    assert.equal((await storage.status()).ready, false)
  },

  'many instances may open a store that is not there yet at once': async (store) => {
    const all = await Promise.all(Array.from({ length: 4 }, (_, index) => store.open({ instance: `at once ${index}` })))
    await Promise.all(all.map(({ settings }, index) => settings.put({ kind: 'pin', name: `${index}`, value: index })))
    assert.equal((await all[0]?.settings.list('pin'))?.length, 4)
  },

  'an instance that shows itself stays alive': async (store) => {
    const [living, watchful] = [await store.open({ aliveMs: 2_500 }), await store.open({ aliveMs: 2_500 })]
    const claim = { tenant: 't', caller: 'c', key: 'k', fingerprint: 'f', expiresAt: Date.now() + 3_600_000 }
    await living.once.claim(claim)
    const since = Date.now()
    await until('more time than silence is borne for', async () => {
      assert.deepEqual(await watchful.once.claim(claim), { state: 'running' })
      return Date.now() - since > 3_000
    })
  },
}
