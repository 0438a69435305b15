import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openTestServer, type TestServer } from '../src/server/fixtures/open-server.ts'
import { chooseModel } from '../test/browser/choose-model.ts'
import { openPage as open } from '../test/browser/open-browser.ts'
import { WITH_PLAIN_MODELS } from '../test/browser/shipped-config.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

describe('Page `/tools-testing`', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await openTestServer(WITH_PLAIN_MODELS, { local: true })
    // Of three models one is validated, one takes tools, one does not.
    const body = JSON.stringify({ model: 'mini:plain', success: true })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${server.url}/api/tools/validate`, { method: 'POST', headers, body })
  })
  afterAll(() => server.close())
  const openTesting = async () => {
    const opened = await open()
    await opened.page.goto(`${server.url}/tools-testing`)
    return opened
  }

  test('sections: Available Tools, Test Tool Calling, Test Results, Example Test Queries', async () => {
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
    await chooseModel(page, 'Mini')
    await page.getByLabel('Test Query').fill("What's the weather in Paris and London?")
    await page.getByRole('button', { name: 'Run Test' }).click()
    const results = page.getByRole('region', { name: 'Test Results' })
    // The first question loads the model.
    await results.getByRole('heading', { name: 'Tool Calls (2)' }).waitFor({ timeout: 60_000 })
    await results.getByRole('heading', { name: 'Final Response' }).waitFor()
    await results.getByText('Paris: temperature 22 °C, condition sunny, humidity 65%.', { exact: false }).waitFor()
    const calls = results.getByRole('list', { name: 'Calls of turn 1' }).getByRole('listitem')
    const first = await calls.filter({ hasText: 'Paris' }).first().textContent()
    expect(first).toMatch(/get_weather.*Iteration 1, [\d.]+ m?s.*Parameters.*location.*Paris.*Result.*temperature.*22/)
    expect(await results.getByRole('term').allTextContents()).toEqual(['Model', 'Service'])
    expect(await results.getByRole('definition').allTextContents()).toEqual(['v0', 'mini'])
  })

  test('sections: in the navigation', async () => {
    const { page } = await open()
    await page.goto(server.url)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Testing' }).click()
    await page.getByRole('heading', { name: 'Test Tool Calling' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/tools-testing')
  })

  test('the model list carries a badge: 🔧✓ validated, 🔧⚠️ supports tools but not validated, none', async () => {
    const { page } = await openTesting()
    await page.getByRole('combobox', { name: /Select Model/ }).click()
    const said = async (name: string) => await page.getByRole('option', { name: new RegExp(`^${name} `) }).textContent()
    expect(await said('Mini')).toMatch(/🔧⚠️supports tools but not validated, no tests yet$/)
    expect(await said('Plain')).toMatch(/🔧✓validated for tools, 1 of 1 test passed$/)
    expect(await said('Bare')).not.toContain('🔧')
    // What a screen reader says has the words, and not the signs.
    const option = page.getByRole('option', { name: /^Plain mini:plain validated for tools/ })
    expect(await option.count()).toBe(1)
  })

  test('run without query or model: Please enter a test query and select a model', async () => {
    const { page, asked } = await openTesting()
    const message = page.getByRole('alert').getByText('Please enter a test query and select a model', { exact: true })
    await page.getByRole('button', { name: 'Run Test' }).click()
    await message.waitFor()
    await chooseModel(page, 'Mini')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await message.waitFor()
    await page.reload()
    await page.getByLabel('Test Query').fill("What's 2+2?")
    await page.getByRole('button', { name: 'Run Test' }).click()
    await message.waitFor()
    expect(asked.filter((address) => address.endsWith('/api/tools/test'))).toEqual([])
  })

  test('example queries fill the field on a click, each with what is expected of the model', async () => {
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

  test('after a run: record it as passed or failed', async () => {
    const another = await openTestServer(WITH_PLAIN_MODELS, { local: true })
    onTestFinished(() => another.close())
    const { page } = await open()
    await page.goto(`${another.url}/tools-testing`)
    await chooseModel(page, 'Mini')
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
    expect(models.find(({ id }) => id === 'mini:v0')?.validation).toMatchObject({ test_count: 2, success_count: 1 })
  })
})
