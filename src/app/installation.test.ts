import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../core/log.ts'
import { newStoredKey } from '../server/fixtures/new-stored-key.ts'
import { Installation } from './installation.ts'

test('a key that was revoked while the store did not answer is refused once it answers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const installation = await Installation.open({ config: {}, log: silentLog, env: { TOOLYARD_DATA: folder } })
  onTestFinished(() => installation.close())
  const { callers, storage } = installation
  const { text, stored } = newStoredKey('acme')
  await storage.keys.create(stored)
  await vi.waitFor(() => expect(callers.find(text)).toBeDefined())
  const list = vi.spyOn(storage.keys, 'list').mockRejectedValueOnce(new Error('The store does not answer'))
  await storage.keys.revoke(stored.id, new Date().toISOString())
  await vi.waitFor(() => expect(callers.find(text)).toBeUndefined())
  expect(list).toHaveBeenCalledTimes(2)
})
