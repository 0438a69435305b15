import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openTestServer, type TestServerOptions } from '../../src/server/fixtures/open-server.ts'

/** A configuration as people write it, which may call services on this machine. */
const CONFIG = {
  tools: {
    enabled: true,
    registry: [
      {
        name: 'hello',
        description: 'Says hello.',
        parameters: { type: 'object' },
        implementation: { type: 'mock', mock_response: 'world' },
      },
    ],
  },
  http: { allow_private: ['127.0.0.1'] },
}

/** A server over a configuration file, which stores secrets. */
export async function openSetupServer({ without, ...options }: TestServerOptions & { without?: 'http' } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-setup-page-'))
  const file = join(folder, 'toolyard.config.json')
  const { http, ...rest } = CONFIG
  await writeFile(file, `${JSON.stringify(without === 'http' ? rest : { ...rest, http }, null, 2)}\n`)
  const env = { TOOLYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), ...options.env }
  const server = await openTestServer({}, { local: true, file, ...options, env })
  onTestFinished(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const text = () => readFile(file, 'utf8')
  return { ...server, file, home: folder, text, config: async () => JSON.parse(await text()) }
}

/** A service on this machine, until the test ends. */
export async function openService(answer: RequestListener): Promise<string> {
  const service = createServer(answer)
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void service.close())
  return `http://127.0.0.1:${(service.address() as AddressInfo).port}`
}
