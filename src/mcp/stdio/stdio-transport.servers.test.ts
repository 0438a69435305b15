import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import { closeAll, connect } from '../fixtures/connect.ts'
import { childrenOf, membersOf, until } from '../fixtures/running.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'stdio-servers-')))
const file = join(folder, 'hello.txt')

afterAll(() => rmSync(folder, { recursive: true }))
afterEach(async () => {
  await closeAll()
  await until(() => childrenOf(process.pid).length === 0)
})

const program = (name: string): string =>
  new URL(`../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url).pathname

it.each([
  ['everything', ['stdio'], 'echo', { message: 'hello' }, 'Echo: hello'],
  ['filesystem', [folder], 'write_file', { path: file, content: 'hello' }, `Successfully wrote to ${file}`],
  ['memory', [], 'read_graph', {}, JSON.stringify({ entities: [], relations: [] }, null, 2)],
])('works with server-%s, of which nothing is left', async (name, args, tool, params, text) => {
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.json') }
  const { client, transport, call, noise } = await connect([], { args: [program(name), ...args], env })
  const pid = transport.pid ?? 0
  const { tools } = await client.listTools()
  expect(tools.map((listed) => listed.name)).toContain(tool)
  expect(await call(tool, params)).toBe(text)
  if (name === 'filesystem') expect(readFileSync(file, 'utf8')).toBe('hello')
  expect(noise).toEqual([])
  await client.close()
  await until(() => membersOf(pid).length === 0)
})
