import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { captureLog } from '../testing/stand-ins.ts'
import { Installation } from './installation.ts'

const KEY = Buffer.alloc(32, 9).toString('base64')
const BY = { id: 'local', name: 'test' }

const server = (authorization: string) => ({ url: 'http://127.0.0.1:9/mcp', headers: { authorization } })

async function open(config: object, env: Readonly<Record<string, string>> = { TOOLYARD_ENCRYPTION_KEY: KEY }) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-secrets-'))
  const file = join(folder, 'toolyard.config.json')
  await writeFile(file, JSON.stringify(config))
  const again = async (more = env) => {
    const log = captureLog()
    const installation = await Installation.open({ file, env: { TOOLYARD_DATA: folder, ...more }, log })
    onTestFinished(() => installation.close())
    return { installation, log }
  }
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { ...(await again()), again, folder, file }
}

const headerOf = ({ manager }: Installation) => {
  const { reach } = manager.getMcpServers().connection('x').settings
  return reach.type === 'stdio' ? undefined : reach.headers.authorization
}

test('fills in a secret, and uses a new value at once', async () => {
  const { installation, folder } = await open({
    mcpServers: { x: server('Bearer ${secret:TOKEN}') },
    tools: { enabled: true },
  })
  expect(installation.manager.getMcpStatus()).toMatchObject([
    { state: 'left_out', problem: expect.stringContaining('The secret TOKEN is not stored') },
  ])
  await installation.secrets.set('TOKEN', 'first-value', BY)
  await vi.waitFor(() => expect(headerOf(installation)).toBe('Bearer first-value'))
  const before = installation.manager
  await installation.secrets.set('OTHER', 'unused', BY)
  await installation.secrets.set('TOKEN', 'second-value', BY)
  await vi.waitFor(() => expect(headerOf(installation)).toBe('Bearer second-value'))
  expect(installation.manager).not.toBe(before)
  expect(JSON.stringify(installation.config)).not.toContain('second-value')
  expect((await readFile(join(folder, 'toolyard.db'))).includes('second-value')).toBe(false)
  await installation.secrets.remove('TOKEN', BY)
  await vi.waitFor(() => expect(installation.manager.getMcpServers().names).toEqual([]))
})

test('keeps the secrets of two installations apart', async () => {
  const config = { mcpServers: { x: server('${secret:SAME}') }, tools: { enabled: true } }
  const [one, other] = [await open(config), await open(config)]
  await one.installation.secrets.set('SAME', 'of-one', BY)
  await vi.waitFor(() => expect(headerOf(one.installation)).toBe('of-one'))
  await other.installation.reload()
  expect(other.installation.manager.getMcpServers().names).toEqual([])
})

test('leaves out a secret whose key is missing', async () => {
  const { installation, again } = await open({ mcpServers: { x: server('${secret:TOKEN}') }, tools: { enabled: true } })
  await installation.secrets.set('TOKEN', 'a-secret-value', BY)
  await installation.close()
  const { log, installation: next } = await again({ TOOLYARD_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') })
  expect(next.manager.getMcpServers().names).toEqual([])
  const messages = JSON.stringify(log)
  expect(messages).toContain('A secret cannot be decrypted')
  expect(messages).not.toContain('a-secret-value')
  expect(await next.secrets.names()).toEqual(['TOKEN'])
})

test('refuses to store without an encryption key', async () => {
  const { installation } = await open({}, {})
  await expect(installation.secrets.set('TOKEN', 'value', BY)).rejects.toThrow('set TOOLYARD_ENCRYPTION_KEY')
})

test('works only in the configuration file itself', async () => {
  const tool = (url: string) => ({
    name: 'ask',
    description: 'Asks.',
    parameters: { type: 'object' },
    implementation: { type: 'http', url },
  })
  const { file, folder, installation } = await open({})
  const load = async (config: object) => {
    await writeFile(file, JSON.stringify(config))
    await installation.reload()
  }
  await writeFile(join(folder, 'tools.json'), JSON.stringify([tool('https://a.com/${secret:TOKEN}')]))
  const including = { tools: { enabled: true, registry: [{ include: 'tools.json' }] } }
  await expect(load(including)).rejects.toThrow('${secret:…} work only in the configuration file itself')
  await writeFile(join(folder, 'tools.json'), JSON.stringify([tool('https://a.com/${TOOLYARD_SECRET_STORED_TOKEN}')]))
  await expect(load(including)).rejects.toThrow('work only in the configuration file itself')
  await expect(load({ providers: { openai: { api_key: '${secret:../x}' } } })).rejects.toThrow('the name of a secret')
})
