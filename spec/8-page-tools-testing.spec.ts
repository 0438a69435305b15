import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openaiChatFrames } from '../src/models/fixtures/wire-frames.ts'
import { startWireServer, streamed, type WireServer } from '../src/models/fixtures/wire-server.ts'
import { openTestServer, type TestServer } from '../src/server/fixtures/open-server.ts'
import { chooseModel, unfoldCalls } from '../test/browser/choose-model.ts'
import { openPage as open } from '../test/browser/open-browser.ts'
import { WITH_PLAIN_MODELS } from '../test/browser/shipped-config.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const { start, text, openCall, closeCall, finish } = openaiChatFrames

describe('Page `/tools-testing`', () => {
  let wire: WireServer
  let server: TestServer
  /** Starts a server with three models: one takes tools, two do not. */
  const openServer = () => {
    const tested = { id: 'openai:gpt-4o', name: 'GPT-4o', capabilities: ['function-calling'] }
    const providers = { openai: { api_key: 'sk-test', base_url: `${wire.url}/v1` } }
    const models = [tested, ...(WITH_PLAIN_MODELS.models ?? []).slice(1)]
    return openTestServer({ ...WITH_PLAIN_MODELS, providers, models }, { local: true })
  }
  beforeAll(async () => {
    wire = await startWireServer()
    server = await openServer()
    // One of the two is validated.
    const body = JSON.stringify({ model: 'mini:plain', success: true })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${server.url}/api/tools/validate`, { method: 'POST', headers, body })
  })
  afterAll(async () => {
    await server.close()
    await wire.stop()
  })
  const openTesting = async () => {
    const opened = await open()
    await opened.page.goto(`${server.url}/tools-testing`)
    return opened
  }

  test('[8.1-1] shows tools, runs a test and shows its results', async () => {
    const { page } = await openTesting()
    const available = page.getByRole('region', { name: /^Available Tools/ })
    const weather = available.getByRole('listitem').filter({ hasText: 'get_weather' })
    await weather.waitFor()
    expect(await weather.textContent()).toMatch(/get_weather.*mock.*Get the current weather of a place/)
    const titles = await page.getByRole('heading', { level: 2 }).allTextContents()
    expect(titles.map((title) => title.replace(/ \(\d+\)$/, '')).sort()).toEqual([
      'Available Tools',
      'Example Test Queries',
      'Test Results',
      'Test Tool Calling',
    ])
    const args = JSON.stringify({ location: 'Paris' })
    wire.replies = [
      streamed([...start, ...openCall('get_weather', args), ...closeCall('get_weather', args), ...finish('stop')]),
      streamed([...start, ...text('It is sunny in Paris.'), ...finish('stop')]),
    ]
    await chooseModel(page, 'GPT-4o')
    await page.getByLabel('Test Query').fill("What's the weather in Paris?")
    await page.getByRole('button', { name: 'Run Test' }).click()
    const results = page.getByRole('region', { name: 'Test Results' })
    await results.getByRole('heading', { name: 'Tool Calls (1)' }).waitFor()
    await results.getByRole('heading', { name: 'Final Response' }).waitFor()
    await results.getByText('It is sunny in Paris.', { exact: false }).waitFor()
    await unfoldCalls(page)
    const calls = results.getByRole('list', { name: 'Calls of turn 1' }).getByRole('listitem')
    const first = await calls.filter({ hasText: 'Paris' }).first().textContent()
    expect(first).toMatch(/get_weather.*Iteration 1, [\d.]+ m?s.*Parameters.*location.*Paris.*Result.*temperature.*22/)
    expect(await results.getByRole('term').allTextContents()).toEqual(['Model', 'Service'])
    expect(await results.getByRole('definition').allTextContents()).toEqual(['gpt-4o', 'openai'])
  })

  test('[8.1-2] is in the navigation', async () => {
    const { page } = await open()
    await page.goto(server.url)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Testing' }).click()
    await page.getByRole('heading', { name: 'Test Tool Calling' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/tools-testing')
  })

  test('[8.1-3] shows a badge beside models that support tools', async () => {
    const { page } = await openTesting()
    await page.getByRole('combobox', { name: /Select Model/ }).click()
    const said = async (name: string) => await page.getByRole('option', { name: new RegExp(`^${name} `) }).textContent()
    expect(await said('GPT-4o')).toMatch(/🔧⚠️supports tools but not validated, no tests yet$/)
    expect(await said('Plain')).toMatch(/🔧✓validated for tools, 1 of 1 test passed$/)
    expect(await said('Bare')).not.toContain('🔧')
    // What a screen reader says has the words, and not the signs.
    const option = page.getByRole('option', { name: /^Plain mini:plain validated for tools/ })
    expect(await option.count()).toBe(1)
  })

  test('[8.1-4] asks for a query and a model', async () => {
    const { page, asked } = await openTesting()
    const message = page.getByRole('alert').getByText('Please enter a test query and select a model', { exact: true })
    await page.getByRole('button', { name: 'Run Test' }).click()
    await message.waitFor()
    await chooseModel(page, 'GPT-4o')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await message.waitFor()
    await page.reload()
    await page.getByLabel('Test Query').fill("What's 2+2?")
    await page.getByRole('button', { name: 'Run Test' }).click()
    await message.waitFor()
    expect(asked.filter((address) => address.endsWith('/api/tools/test'))).toEqual([])
  })

  test('[8.1-5] fills an example query into the field on a click', async () => {
    const { page } = await openTesting()
    const examples = [
      ['Simple Tool Call', "What's the weather in Paris?"],
      ['Calculator', 'Calculate 15% tip on $45'],
      ['Direct Answer Test', "What's 2+2?"],
      ['RAG Tool', 'Search for Python decorators in the docs'],
    ] as const
    for (const [title, query] of examples) {
      const example = page.getByRole('region', { name: 'Example Test Queries' }).getByRole('button', { name: title })
      expect(await example.textContent()).toMatch(/Expected: \w/)
      await example.click()
      expect(await page.getByLabel('Test Query').inputValue()).toBe(query)
    }
  })

  test('[8.1-6] records a run as passed or failed', async () => {
    wire.replies = [streamed([...start, ...text('It is 4.'), ...finish('stop')])]
    const another = await openServer()
    onTestFinished(() => another.close())
    const { page } = await open()
    await page.goto(`${another.url}/tools-testing`)
    await chooseModel(page, 'GPT-4o')
    const record = async (name: string) => {
      await page.getByLabel('Test Query').fill("What's 2+2?")
      await page.getByRole('button', { name: 'Run Test' }).click()
      await page.getByRole('button', { name }).click()
    }
    await record('Record as passed')
    await page.getByText('Recorded as passed: 1 of 1 passed so far.').waitFor()
    await record('Record as failed')
    await page.getByText('Recorded as failed: 1 of 2 passed so far.').waitFor()
    const { models } = (await (await fetch(`${another.url}/api/models/list`)).json()) as {
      models: { id: string; validation: object }[]
    }
    expect(models.find(({ id }) => id === 'openai:gpt-4o')?.validation).toMatchObject({
      test_count: 2,
      success_count: 1,
    })
  })
})
