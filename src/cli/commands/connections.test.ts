import { expect, test } from 'vitest'
import { TextSeal } from '../../app/durable/sealed-text.ts'
import { silentLog } from '../../core/log.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'

const [OLD, NEW] = ['o'.repeat(43), 'n'.repeat(43)]
const KEY = { tenant: 'acme', user: 'user:acme/ada', provider: 'octohub' }
const PLACE = JSON.stringify(['connection', KEY.tenant, KEY.user, KEY.provider])

test('lists and revokes connections, and encrypts them with a new key', async () => {
  const { toolyard, toolyardWith, data } = await installationFolder({})
  expect((await toolyard('connections', 'list')).err).toBe("The tenant 'local' has no connections.\n")
  const tokens = new TextSeal(OLD).seal('{"access_token":"secret-token"}', PLACE)
  const within = async <T>(work: (store: Awaited<ReturnType<typeof openStorage>>) => Promise<T>): Promise<T> => {
    const storage = await openStorage({ folder: data, instance: 'test', keepDays: 7 }, { log: silentLog })
    return work(storage).finally(() => storage.close())
  }
  await within(({ connections }) => connections.put(KEY, { tokens, scopes: 'a b', expires_at: null }, 0, 10))

  const list = await toolyard('connections', 'list', '--tenant', 'acme')
  expect(list.out).toMatch(/octohub +user:acme\/ada +connected +a b +1970-01-01/)
  expect(list.out).not.toContain('secret-token')

  const rotate = (keys: string) => toolyardWith({ TOOLYARD_ENCRYPTION_KEY: keys }, 'storage', 'rotate-key')
  expect((await toolyard('storage', 'rotate-key')).err).toContain('set TOOLYARD_ENCRYPTION_KEY')
  const missing = await rotate(NEW)
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("can't be decrypted")])
  const rotated = await rotate(`${NEW},${OLD}`)
  expect([rotated.code, rotated.out]).toEqual([0, 'Encrypted 1 text with the first key.\n'])
  const stored = await within(({ connections }) => connections.get(KEY))
  expect(new TextSeal(NEW).open(stored?.tokens ?? '', PLACE)).toContain('secret-token')

  const revoke = () => toolyard('connections', 'revoke', 'octohub', '--tenant', 'acme', '--user', KEY.user)
  const revoked = await revoke()
  expect([revoked.code, revoked.out]).toEqual([0, 'Deleted the connection of user:acme/ada to octohub.\n'])
  expect((await revoke()).err).toContain('There is no connection of')
})
