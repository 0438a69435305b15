import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { loadConfigFile } from '../../config/load-config.ts'
import { readMcpServers } from '../../config/mcp-settings.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { providerSettings } from './providers.ts'
import { ToolManager } from './tool-manager.ts'

const folder = mkdtempSync(join(tmpdir(), 'secret-sources-'))
afterAll(() => rmSync(folder, { recursive: true }))
const SECRET = 'sk-from-a-file-0123456789'
writeFileSync(join(folder, 'key'), `${SECRET}\n`)
const file = join(folder, 'toolyard.config.json')

const provider = (api_key: string): Config => ({ providers: { openai: { api_key } } })
const http = (url: string, authorization: string) => ({
  name: 'ask',
  description: 'Asks.',
  parameters: { type: 'object' },
  implementation: { type: 'http', method: 'GET', url, headers: { authorization } },
})

/** Loads a configuration file; gives the key of its provider too. */
async function load(written: object) {
  writeFileSync(file, JSON.stringify(written))
  const { config } = await loadConfigFile(file)
  const { openai } = config.providers ?? {}
  return { config, key: openai && providerSettings('openai', openai, {}).api_key }
}

/** A command that runs this program. */
const node = (program: string) => `\${cmd:"${process.execPath}" -e '${program}'}`

test.each([
  ['a file', `\${file:${join(folder, 'key')}}`, SECRET],
  ['a file relative to the configuration', '${file:key}', SECRET],
  ['a command', node('console.log(process.argv.length, `a  b`)'), '1 a  b'],
  ['a part of a text', 'Token ${file:key}', `Token ${SECRET}`],
])('takes a secret from %s', async (_, api_key, expected) => {
  const { config, key } = await load(provider(api_key))
  expect(key).toBe(expected)
  expect(JSON.stringify(config)).not.toContain(SECRET)
})

test('reads the file again with the configuration', async () => {
  writeFileSync(join(folder, 'turning'), 'first')
  expect((await load(provider('${file:turning}'))).key).toBe('first')
  writeFileSync(join(folder, 'turning'), 'second')
  expect((await load(provider('${file:turning}'))).key).toBe('second')
})

test('sends a secret in an HTTP tool and in the environment of an MCP server', async () => {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ length: request.headers.authorization?.length }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { config } = await load({
    tools: { enabled: true, registry: [http(url, 'Bearer ${file:key}')] },
    http: { allow_private: ['127.0.0.1/32'] },
    mcpServers: { files: { command: 'run', env: { KEY: '${file:key}' } } },
  })
  expect(readMcpServers(config, {}).servers).toMatchObject([{ reach: { env: { KEY: SECRET } } }])
  const manager = new ToolManager({ ...config, mcpServers: {} }, { log: captureLog(), env: {} })
  await manager.loadTools()
  const envelope = await manager.getExecutor().execute('ask', {})
  expect(envelope).toMatchObject({ success: true })
  expect(JSON.stringify(envelope)).toContain(String(`Bearer ${SECRET}`.length))
  await manager.close()
  server.close()
})

test.each([
  ['a missing file', '${file:absent}', 'there is no such file'],
  ['a folder', '${file:.}', 'it is a folder'],
  ['an empty file', '${file:empty}', 'the value is empty'],
  ['a large file', '${file:large}', 'is larger than 64 KB'],
  ['a missing command', '${cmd:no-such-command-here --secret}', '"no-such-command-here" was not found'],
  ['a failed command', node('console.log(`hidden`);console.error(`hidden`);process.exit(3)'), 'failed (3)'],
  ['too much output', node('console.log(`hidden`.repeat(20000))'), 'printed more than 64 KB'],
  ['an open quote', '${cmd:pass "x}', 'with every quote closed'],
  ['no command', '${cmd: }', 'write a command'],
])('refuses a configuration with %s and names the place, not the value', async (_, api_key, problem) => {
  writeFileSync(join(folder, 'empty'), '\n')
  writeFileSync(join(folder, 'large'), 'hidden'.repeat(20_000))
  const error = (await load(provider(api_key)).catch((thrown: unknown) => thrown)) as Error
  expect(error.name).toBe('ConfigError')
  expect(error.message).toContain(`${file}: providers.openai.api_key: `)
  expect(error.message).toContain(problem)
  expect(error.message).not.toContain('hidden')
  expect(error.message).not.toContain('--secret')
})

test('an included file cannot read files, run commands, or name their values', async () => {
  const { config } = await load(provider('${file:key}'))
  const name = config.providers?.openai?.api_key as string
  for (const text of ['${file:key}', node('1'), name]) {
    writeFileSync(join(folder, 'tools.json'), JSON.stringify([http('http://example.com', text)]))
    await expect(
      load({ ...provider('${file:key}'), tools: { registry: [{ include: 'tools.json' }] } }),
    ).rejects.toThrow('tools.json[0]: ${file:…} and ${cmd:…} work only in the configuration file itself')
  }
})

test('a configuration object cannot read files or run commands', async () => {
  const text = '${file:key}'
  const manager = new ToolManager(
    { tools: { enabled: true, registry: [http('http://example.com', text)] } },
    { log: captureLog(), env: {} },
  )
  const { skipped } = await manager.loadTools()
  expect(skipped).toMatchObject([{ name: 'ask', problem: expect.stringContaining('only in the configuration file') }])
  await manager.close()
  expect(() => providerSettings('openai', { api_key: text }, {})).toThrow('only in the configuration file')
  const reading = readMcpServers({ mcpServers: { files: { command: 'run', args: [text] } } }, {})
  expect(reading).toMatchObject({ servers: [], skipped: [{ problem: expect.stringContaining('only in the') }] })
})

test('texts without variables stay as they are', async () => {
  const data = {
    name: 'a',
    description: '${cmd:false}',
    implementation: { type: 'mock', mock_response: '${cmd:false}' },
  }
  const { config } = await load({ tools: { registry: [data] } })
  expect(config.tools?.registry).toEqual([data])
})

test('without secrets no file is read and no command runs', async () => {
  writeFileSync(file, JSON.stringify(provider('${file:absent}${cmd:no-such-command-here}')))
  await expect(loadConfigFile(file, { secrets: false })).resolves.toBeDefined()
})
