import { mkdtemp, rm, writeFile } from 'node:fs/promises'
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

test('tools in code stay after a reload, and may not have the name of another tool', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolyard.config.json')
  const mock = (name: string) => ({
    name,
    description: 'A tool.',
    parameters: { type: 'object' },
    implementation: { type: 'mock', mock_response: name },
  })
  const write = (...names: string[]) =>
    writeFile(file, JSON.stringify({ tools: { enabled: true, registry: names.map(mock) } }))
  await write('one')
  const options = { file, tools: [mock('code')], log: silentLog, env: { TOOLYARD_DATA: folder } }
  const installation = await Installation.open(options)
  onTestFinished(() => installation.close())
  const names = () =>
    installation.manager
      .getRegistry()
      .definitions()
      .map(({ name }) => name)
  expect(names()).toEqual(expect.arrayContaining(['one', 'code']))
  await write('two')
  await installation.reload()
  expect(names()).toEqual(expect.arrayContaining(['two', 'code']))
  await write('code')
  await expect(installation.reload()).rejects.toThrow("There are two tools 'code'")
  expect(names()).toEqual(expect.arrayContaining(['two', 'code']))
})
