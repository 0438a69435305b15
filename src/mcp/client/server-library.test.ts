import { expect, test, vi } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { FollowedResources } from './followed-resources.ts'
import type { McpConnection } from './mcp-connection.ts'
import { ServerLibrary } from './server-library.ts'

type Reply = (value: unknown) => void

/** A server that answers list requests at once, or when the test does. */
function fake(name: string, isMute = false) {
  const waiting: { readonly method: string; readonly reply: Reply }[] = []
  const asked: string[] = []
  const answers: Record<string, unknown> = {
    'prompts/list': { prompts: [{ name: `ask_${name}` }] },
    'resources/list': { resources: [{ uri: `x://${name}`, name }] },
  }
  const client = {
    getProtocolEra: () => 'legacy',
    request: ({ method }: { method: string }) => {
      asked.push(method)
      if (!isMute) return Promise.resolve(answers[method])
      return new Promise((reply) => waiting.push({ method, reply }))
    },
    getPrompt: async () => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }] }),
    readResource: async ({ uri }: { uri: string }) => ({ contents: [{ uri, text: name }] }),
  }
  const connection = { settings: { name }, capabilities: { resources: {}, prompts: {} }, client: async () => client }
  const answer = () => {
    for (const { method, reply } of waiting.splice(0)) reply(answers[method])
  }
  return { connection: connection as unknown as McpConnection, asked, waiting, answer }
}

function yard() {
  const [fine, mute, clock] = [fake('fine'), fake('mute', true), new ManualClock()]
  const servers = [fine, mute]
  const library = new ServerLibrary({
    connections: () => servers.map(({ connection }) => connection),
    configured: ['fine', 'mute'],
    isUsable: () => true,
    log: silentLog,
    clock,
    followed: new FollowedResources(clock),
  })
  const told: string[] = []
  library.onChange((what) => told.push(what))
  const prompts = async () => (await library.listPrompts()).map(({ name }) => name)
  return { library, fine, mute, clock, told, prompts }
}

test('a list waits a second for a server that does not answer, then for a minute not at all', async () => {
  const { prompts, library, mute, clock } = yard()
  const first = prompts()
  await vi.waitFor(() => expect(mute.waiting).toHaveLength(1))
  clock.advance(1_000)
  expect(await first).toEqual(['ask_fine'])
  // Time stands still from here.
  expect(await prompts()).toEqual(['ask_fine'])
  expect((await library.listResources()).map(({ uri }) => uri)).toEqual(['x://fine'])
  expect(mute.asked).toEqual(['prompts/list', 'resources/list'])
  library.changed(mute.connection, 'prompts')
  expect(await prompts()).toEqual(['ask_fine'])
  expect(mute.asked).toEqual(['prompts/list', 'resources/list'])
})

test('clients are told of a list that comes late, and get the last one while the next is late', async () => {
  const { prompts, mute, clock, told, library } = yard()
  const first = prompts()
  await vi.waitFor(() => expect(mute.waiting).toHaveLength(1))
  clock.advance(1_000)
  await first
  mute.answer()
  await vi.waitFor(() => expect(told).toEqual(['prompts']))
  expect(await prompts()).toEqual(['ask_fine', 'ask_mute'])
  library.changed(mute.connection, 'prompts')
  expect(await prompts()).toEqual(['ask_fine', 'ask_mute'])
  await vi.waitFor(() => expect(mute.waiting).toHaveLength(1))
  mute.answer()
  clock.advance(60_000)
  const later = prompts()
  await vi.waitFor(() => expect(mute.waiting).toHaveLength(1))
  mute.answer()
  expect(await later).toEqual(['ask_fine', 'ask_mute'])
  // The same list again is no news.
  expect(told).toEqual(['prompts', 'prompts'])
})

test('a prompt and a resource whose server is known are asked of that server only', async () => {
  const { prompts, library, fine, mute, clock } = yard()
  for (const list of [prompts, () => library.listResources()]) {
    const first = list()
    await vi.waitFor(() => expect(mute.asked.length).toBeGreaterThan(0))
    clock.advance(1_000)
    await first
  }
  mute.answer()
  clock.advance(120_000)
  const before = mute.asked.length
  expect(await library.getPrompt('ask_fine', {})).toMatchObject({ messages: [{ content: { text: 'fine' } }] })
  expect(await library.readResource('fine+x://fine')).toMatchObject({ contents: [{ text: 'fine' }] })
  library.changed(fine.connection, 'prompts')
  expect(mute.asked).toHaveLength(before)
})
