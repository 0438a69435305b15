import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, preview } from 'vite'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { never } from '../src/core/fixtures/code-yard.ts'
import { openScriptedServer, type ScriptedServerOptions } from '../src/server/fixtures/open-scripted-server.ts'
import type { GivenTurn } from '../src/testing/stand-ins.ts'
import { openPage } from '../test/browser/open-browser.ts'

const root = fileURLToPath(new URL('ai-sdk-chat', import.meta.url))
let outDir: string

beforeAll(async () => {
  outDir = await mkdtemp(join(tmpdir(), 'ai-sdk-chat-'))
  await build({ root, logLevel: 'error', build: { outDir } })
})
afterAll(() => rm(outDir, { recursive: true }))

/** A server, and the page of the example in a browser. */
async function openExample(turns: readonly GivenTurn[], options: ScriptedServerOptions) {
  const server = await openScriptedServer(turns, options)
  const proxy = { '/api/ai-sdk': { target: server.url, headers: { origin: server.url } } }
  const site = await preview({ root, logLevel: 'error', build: { outDir }, preview: { port: 0, proxy } })
  onTestFinished(() => site.close())
  const { page } = await openPage()
  await page.goto(String(site.resolvedUrls?.local[0]))
  const ask = async (text: string) => {
    await page.getByLabel('Question').fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
  }
  return { ...server, page, ask }
}

test('the page shows the tool call, the answer and a second answer', async () => {
  const call = { calls: [{ name: 'get_weather', arguments: { location: 'Paris' } }] }
  const tools = { get_weather: () => ({ sky: 'blue' }) }
  const { page, ask, model } = await openExample([call, 'It is blue.', 'Still blue.'], { tools })
  await ask('How is the weather in Paris?')
  await page.getByText('It is blue.').waitFor()
  await page.getByText('get_weather: output-available').click()
  await page.getByText('"sky": "blue"').waitFor()
  await page.getByText('"location": "Paris"').waitFor()
  await ask('And now?')
  await page.getByText('Still blue.').waitFor()
  expect(model.requests[2]?.messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ])
})

test('the button Stop cancels the tool, through the proxy too', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const look = (_: unknown, { signal }: { signal: AbortSignal }) => {
    signal.addEventListener('abort', () => end())
    return never()
  }
  const { page, ask } = await openExample([{ calls: [{ name: 'look' }] }, 'I stopped.'], { tools: { look } })
  await ask('Look!')
  await page.getByText('look: input-available').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await ended
  await ask('What happened?')
  await page.getByText('I stopped.').waitFor()
})
