import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { anthropicFrames, geminiFrames, openaiChatFrames, type WireFrames } from '../../models/fixtures/wire-frames.ts'
import { json, startWireServer, streamed, type WireReply } from '../../models/fixtures/wire-server.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { type TestedProvider, testModel } from './test-model.ts'

const KEY = 'a-key-that-nobody-may-see'

async function openProvider(reply: WireReply, type = 'openai') {
  const provider = await startWireServer()
  provider.replies = [reply]
  onTestFinished(() => provider.stop())
  const change: TestedProvider = { kind: 'provider', name: 'office', models: [{ id: 'small' }] }
  const added = { providers: { office: { type, base_url: provider.url, api_key: '${secret:OFFICE}' } } }
  const parts = {
    ...{ config: {}, env: { TOOLYARD_SECRET_STORED_OFFICE: KEY }, clock: systemClock },
    ...{ mayBePrivate: true, signal: new AbortController().signal },
  }
  const ask = (more: Partial<Parameters<typeof testModel>[2]> = {}) => testModel(change, added, { ...parts, ...more })
  return { ...provider, ask }
}

const answering = (frames: WireFrames, text: string): WireReply =>
  streamed([...frames.start, ...frames.text(text), ...frames.finish('stop')])

test.each([
  ['openai', openaiChatFrames, 'authorization', `Bearer ${KEY}`],
  ['anthropic', anthropicFrames, 'x-api-key', KEY],
  ['gemini', geminiFrames, 'x-goog-api-key', KEY],
])('asks a model of %s once, with the key and for few tokens', async (type, frames, header, value) => {
  const { ask, requests } = await openProvider(answering(frames, ' OK,\n\nready. '), type)
  expect(await ask()).toEqual({ ok: true, ms: expect.any(Number), answer: 'OK, ready.' })
  expect(requests).toHaveLength(1)
  expect(requests[0]?.headers[header]).toBe(value)
  expect(JSON.stringify(requests[0]?.body)).toMatch(/"max\w*(tokens|Tokens)":64/)
  expect(JSON.stringify(requests[0]?.body)).not.toContain('"tools"')
})

const GOOGLE = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }

test.each([
  ['openai', 401, { error: { message: `Incorrect API key provided: ${KEY}` } }, /^The provider refuses the key\. /],
  ['anthropic', 401, { error: { message: 'invalid x-api-key' } }, /^The provider refuses the key\. /],
  ['gemini', 400, { error: { message: 'API key not valid.', details: [GOOGLE] } }, /^The provider refuses the key\. /],
  [
    'openai',
    403,
    { error: { message: `${KEY} may not do this` } },
    /403: \[redacted\] may not do this\. Check the api_key/,
  ],
  ['openai', 404, { error: { message: 'nothing here' } }, /^The provider has no model "small" at this address\. /],
  ['ollama', 404, { error: "model 'small' not found" }, /^Ollama has no model 'small'\. Fetch it: ollama pull small$/],
  ['openai', 429, { error: { message: 'Slow down' } }, /^The provider answered 429: Slow down\. Wait/],
  ['openai', 503, { error: { message: 'Overloaded' } }, /^The provider answered 503: Overloaded\. Try again later\.$/],
])('says in one line why %s answers %i, without the key, and asks once', async (type, status, body, said) => {
  const { ask, requests } = await openProvider(json(status, body), type)
  const tested = await ask()
  expect(tested).toEqual({ ok: false, ms: expect.any(Number), error: expect.stringMatching(said) })
  expect(JSON.stringify(tested)).not.toContain(KEY)
  expect(requests).toHaveLength(1)
})

test('removes the key from an answer that repeats it, and shortens the answer', async () => {
  const { ask } = await openProvider(answering(openaiChatFrames, `${KEY} ${'long '.repeat(200)}`))
  const { answer = '' } = await ask()
  expect(answer).toMatch(/^\[redacted\] long /)
  expect(answer.length).toBeLessThan(250)
})

test('gives up on a provider that does not answer', async () => {
  const { ask, requests } = await openProvider(() => {})
  const clock = new ManualClock()
  const tested = ask({ clock })
  await expect.poll(() => requests).toHaveLength(1)
  clock.advance(15_000)
  expect(await tested).toEqual({ ok: false, ms: 15_000, error: "The provider hasn't answered within 15 s." })
  expect(clock.pending).toBe(0)
})

test('ends when the client has gone', async () => {
  const { ask, requests } = await openProvider(() => {})
  const gone = new AbortController()
  const tested = ask({ signal: gone.signal })
  await expect.poll(() => requests).toHaveLength(1)
  gone.abort(new Error('gone'))
  expect(await tested).toMatchObject({ ok: false, error: 'The test was cancelled.' })
})

test('says that a provider cannot be reached', async () => {
  const { ask, stop } = await openProvider(() => {})
  await stop()
  expect(await ask()).toMatchObject({
    ok: false,
    error: expect.stringMatching(/^The provider cannot be reached: the connection was refused \(ECONNREFUSED\)/),
  })
})
