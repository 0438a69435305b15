import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Installation } from '../app/installation.ts'
import type { AuditPage } from '../core/storage/ledger.ts'
import { Prometheus } from '../telemetry/prometheus.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { newStoredKey } from './fixtures/new-stored-key.ts'
import { ServeError, serve } from './serve.ts'

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
  const log = captureLog()
  const installation = await Installation.open({ config: {}, log, env: { TOOLYARD_DATA: folder } })
  onTestFinished(async () => {
    await installation.close()
    await rm(folder, { recursive: true, force: true })
  })
  const start = async (host = '127.0.0.1', port = 0) => {
    const server = await serve({ installation, host, port, prometheus: new Prometheus(), version: '1.2.3' })
    onTestFinished(() => server.close())
    return server
  }
  return { installation, log, start }
}

describe('serve', () => {
  test('listens at a URL, and can be closed more than once', async () => {
    const { start, log } = await open()
    const server = await start()
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await fetch(`${server.url}/api/tools/list`)).status).toBe(200)
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('There are no API keys') }),
    )
    const { rows } = (await (await fetch(`${server.url}/audit?tenant=*`)).json()) as AuditPage
    expect(rows).toMatchObject([{ event: 'config.loaded', tenant: '*', params_hash: expect.any(String) }])
    await Promise.all([server.close(), server.close()])
    await expect(fetch(`${server.url}/health`)).rejects.toThrow()
  })

  test.each(['0.0.0.0', '::', '192.168.1.1', 'example.com', ''])(
    'without keys it is not bound to %j, and says how to make one',
    async (host) => {
      const { start } = await open()
      const starting = start(host)
      await expect(starting).rejects.toThrow(ServeError)
      await expect(starting).rejects.toThrow('npx toolyard keys create')
    },
  )

  test('with a key it may be bound to any address, and then needs one', async () => {
    const { start, installation } = await open()
    const { text, stored } = newStoredKey('acme')
    await installation.storage.keys.create(stored)
    await installation.callers.load(installation.storage.keys)
    const server = await start('0.0.0.0')
    const url = server.url.replace('0.0.0.0', '127.0.0.1')
    expect((await fetch(`${url}/api/tools/list`)).status).toBe(401)
    expect((await fetch(`${url}/api/tools/list`, { headers: { 'x-api-key': text } })).status).toBe(200)
  })

  test('says that a port is already in use', async () => {
    const { start } = await open()
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { port: number }
    await expect(start('127.0.0.1', port)).rejects.toThrow(
      `Port ${port} is already in use. Choose another port, or 0 for any free one`,
    )
  })
})
