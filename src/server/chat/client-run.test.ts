import { expect, test, vi } from 'vitest'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { readEvents } from '../fixtures/read-events.ts'

const ask = (url: string, body: object, signal?: AbortSignal) =>
  fetch(`${url}/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  })

test('a stream is opened when the first event takes long', async () => {
  const { promise: asked, resolve: go } = Promise.withResolvers<string>()
  const { url } = await openScriptedServer([() => asked])
  const response = await ask(url, { message: 'Hi' })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  go('Hi.')
  expect((await Array.fromAsync(readEvents(response))).map(({ event }) => event)).toEqual(['text-delta', 'answer'])
})

test('a later error is sent as an event', async () => {
  const { url, installation } = await openScriptedServer([])
  const chat = await installation.manager.getChat()
  const { promise: asked, resolve: go } = Promise.withResolvers<void>()
  // biome-ignore lint/correctness/useYield: it fails before it has anything to give
  vi.spyOn(chat, 'run').mockImplementation(async function* () {
    await asked
    throw new Error('connect 10.0.0.1:443')
  })
  const response = await ask(url, { message: 'Hi' })
  expect(response.status).toBe(200)
  go()
  const events = await Array.fromAsync(readEvents(response))
  expect(events).toMatchObject([{ event: 'error', data: { status: 500, error: 'Internal server error' } }])
  expect(JSON.stringify(events)).not.toContain('10.0.0.1')
})

test('a client that goes away before the first event leaves no stream behind', async () => {
  const controller = new AbortController()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const silent: GivenTurn = ({ signal }) =>
    new Promise((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
      begin()
    })
  const { url, app } = await openScriptedServer([silent])
  const response = ask(url, { message: 'Hi' }, controller.signal).catch((error: Error) => error.name)
  await begun
  controller.abort()
  expect(await response).toBe('AbortError')
  await vi.waitFor(async () => {
    const page = await (await fetch(`${url}/api/runs`)).json()
    expect(page).toMatchObject({ runs: [{ stop_reason: 'cancelled' }] })
  })
  await vi.waitFor(() => expect(app.traffic.calls.size).toBe(0))
  expect(app.streams.size).toBe(0)
})
