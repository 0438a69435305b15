import { expect, test, vi } from 'vitest'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { asked, chunksOf, message, openChat, post, told } from '../fixtures/ui-chat.ts'

test('a chat belongs to its caller: the same id finds nothing for another key or tenant', async () => {
  const { open, key, model } = await openChat(['One.', 'Two.', 'Three.', 'Four.'])
  const mine = { 'x-api-key': await key('acme') }
  for (const headers of [mine, { 'x-api-key': await key('acme') }, { 'x-api-key': await key('globex') }, mine]) {
    await open('chat', headers).sendMessage({ text: 'What did I say?' })
  }
  expect(model.requests.map((request) => told(request).length)).toEqual([1, 1, 1, 3])
})

test('a chat answers one question at a time', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: answered, resolve: answer } = Promise.withResolvers<string>()
  const waits = () => {
    begin()
    return answered
  }
  const { url, installation } = await openScriptedServer([waits, 'Two.'])
  const first = post(url, asked(message('a')))
  await begun
  const clock = vi.spyOn(installation.clock, 'after').mockImplementationOnce((_ms, late) => {
    late()
    return () => {}
  })
  const second = await post(url, asked(message('b')))
  clock.mockRestore()
  expect([second.status, await second.json()]).toMatchObject([409, { title: 'The chat is still answering' }])
  const third = post(url, asked(message('c')))
  answer('One.')
  expect((await (await first).text()).includes('"delta":"One."')).toBe(true)
  expect((await chunksOf(await third)).at(-1)).toMatchObject({ finishReason: 'stop' })
})

test('a chat has at most 200 messages and 1,000,000 characters', async () => {
  const { url, installation, model } = await openScriptedServer(['a'.repeat(999_000), 'b'.repeat(2_000), 'Short.'])
  const key = { tenant: 'local', caller: 'local', chat: 'chat' }
  await chunksOf(await post(url, asked(message('a'))))
  const late = (await chunksOf(await post(url, asked(message('b'))))).at(-1)
  expect(late).toMatchObject({ type: 'error', errorText: expect.stringMatching(/^The chat is full: .* not stored/) })
  expect(await installation.storage.chats.turns(key)).toHaveLength(1)
  const messages = JSON.stringify(Array.from({ length: 200 }, () => ({ role: 'user', content: 'x' })))
  await installation.storage.chats.add(key, { messageId: 'many', messages })
  const full = await post(url, asked(message('c')))
  expect([full.status, await full.json()]).toMatchObject([409, { detail: expect.stringContaining('202 messages') }])
  expect((await post(url, { ...asked(message('c')), id: 'new' })).status).toBe(200)
  expect(model.requests).toHaveLength(3)
})

test('a chat counts to the quota of its tenant', async () => {
  const { url, model } = await openScriptedServer(['One.', 'Two.'], { config: { limits: { storage_bytes: 150 } } })
  await chunksOf(await post(url, asked(message('a'.repeat(50)))))
  const late = (await chunksOf(await post(url, asked(message('b'))))).at(-1)
  const problem = expect.stringContaining("Tenant 'local' has reached its quota 'storage_bytes'")
  expect(late).toMatchObject({ type: 'error', errorText: problem })
  expect(model.requests).toHaveLength(2)
})

test('a chat is only in memory if runs are not stored', async () => {
  const { chat, model, installation } = await openChat(['One.', 'Two.', 'Three.'], {
    config: { storage: { runs: false } },
  })
  await chat.sendMessage({ text: 'a' })
  await chat.sendMessage({ text: 'b' })
  await chat.regenerate()
  expect(told(model.requests[2])).toEqual([
    ['user', 'a'],
    ['assistant', 'One.'],
    ['user', 'b'],
  ])
  expect(await installation.storage.chats.turns({ tenant: 'local', caller: 'local', chat: 'chat' })).toEqual([])
})

test('a client that is gone before the first event leaves nothing behind', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const silent: GivenTurn = ({ signal }) =>
    new Promise((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
      begin()
    })
  const { chat, app, model } = await openChat([silent, 'Hi.'])
  const asked = chat.sendMessage({ text: 'a' })
  await begun
  await chat.stop()
  await asked
  await chat.sendMessage({ text: 'b' })
  expect(chat.status).toBe('ready')
  expect(told(model.requests[1]).at(-1)).toEqual(['user', 'b'])
  expect([app.streams.size, app.traffic.calls.size]).toEqual([0, 0])
})
