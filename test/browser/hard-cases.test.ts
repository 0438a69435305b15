import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScriptedServer } from '../../src/server/fixtures/open-scripted-server.ts'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { toolConfig } from '../../src/server/fixtures/open-tool-server.ts'
import { FULL, someOf } from '../setup/full.ts'
import { chooseModel } from './choose-model.ts'
import { openPage as open } from './open-browser.ts'
import { manyTools } from './shipped-config.ts'

const LONG = 'a_name_that_was_made_from_an_address_and_never_seen_by_anybody'
const ROWS = Array.from({ length: 8_000 }, (_, id) => ({ id, text: 'lorem ipsum dolor sit amet, consectetur' }))
const WORDS = 'word '.repeat(180_000)

let server: TestServer

beforeAll(async () => {
  const properties = { [LONG]: { type: 'string', description: 'x'.repeat(400) }, free: {} }
  const { config, handlers } = toolConfig({
    [LONG]: { run: async () => 1, effect: 'read', parameters: { type: 'object', properties }, description: LONG },
    rows: { run: async () => ROWS, effect: 'read' },
    words: { run: async () => WORDS, effect: 'read' },
  })
  const registry = [...(config.tools?.registry ?? []), ...manyTools(200)]
  const capabilities = ['function-calling']
  const models = [
    { id: 'mini:v1', name: LONG, capabilities },
    { id: 'mini:other', name: 'Other', capabilities },
  ]
  server = await openTestServer({ tools: { enabled: true, registry }, models }, { local: true, handlers })
})
afterAll(() => server.close())

test.runIf(FULL)('wraps names and descriptions without spaces', async () => {
  const { page, violations, checkWidth, picture } = await open({ width: 360 })
  await page.goto(`${server.url}/tool/${LONG}`)
  await page.getByRole('textbox', { name: LONG }).waitFor()
  await page.getByText('free takes any value').waitFor()
  await checkWidth()
  await picture('tool-long')
  await page.goto(`${server.url}/tools-testing`)
  await chooseModel(page, LONG)
  await checkWidth()
  expect(await violations()).toEqual([])
})

const LARGE = [
  { tool: 'rows', left: '7,900 more' },
  { tool: 'words', left: '895,000 more characters' },
]

test.each(someOf(LARGE, 2))('draws a part of a megabyte of $tool and copies all of it', async ({ tool, left }) => {
  const { page, context } = await open()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${server.url}/tool/${tool}`)
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('shown in part').waitFor()
  if (tool === 'rows') await page.getByRole('treeitem', { expanded: false }).first().click()
  await page.getByText(left).waitFor()
  expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(3_000)
  await page.getByRole('button', { name: 'Copy all' }).click()
  await page.getByText('Copied').waitFor()
  const copied = JSON.parse(await page.evaluate('navigator.clipboard.readText()'))
  expect(copied.result).toEqual(tool === 'rows' ? ROWS : WORDS)
})

test.runIf(FULL)('never hides the focused element behind the header', async () => {
  const { page } = await open()
  await page.goto(server.url)
  await page.getByText('tool_0001').first().waitFor()
  await page.evaluate('window.scrollTo(0, 2000)')
  await page.getByRole('link', { name: /tool_0060/ }).focus()
  const inSight = `(() => {
    const { left, top, width, height } = document.activeElement.getBoundingClientRect()
    return document.activeElement.contains(document.elementFromPoint(left + width / 2, top + 2))
      && document.activeElement.contains(document.elementFromPoint(left + width / 2, top + height - 2))
  })()`
  for (let step = 0; step < 15; step++) {
    await page.keyboard.press('Shift+Tab')
    expect(await page.evaluate(inSight), `${step + 1} steps back`).toBe(true)
  }
})

test.runIf(FULL)('opens a tool at the top and restores the scroll position and the focus on the way back', async () => {
  const { page } = await open()
  await page.goto(server.url)
  await page.getByText('tool_0001').first().waitFor()
  await page.evaluate('window.scrollTo(0, 2000)')
  await page.getByRole('link', { name: /tool_0060/ }).click()
  await page.getByRole('heading', { name: 'tool_0060' }).waitFor()
  expect(await page.evaluate('window.scrollY')).toBe(0)
  await page.goBack()
  await page
    .getByRole('link', { name: /tool_0060/ })
    .and(page.locator(':focus'))
    .waitFor()
  // Rows are measured anew, which may move it by a little.
  expect(Math.abs(((await page.evaluate('window.scrollY')) as number) - 2_000)).toBeLessThan(100)
})

describe('models side by side', () => {
  test.runIf(FULL)('are named in the results, and a removed one can still be cancelled', async () => {
    const scripted = await openScriptedServer([{ calls: [{ name: 'wait' }] }, { calls: [{ name: 'wait' }] }], {
      definition: { effect: 'read' },
      tools: {
        wait: (_params, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      },
    })
    const { models } = (await (await fetch(`${scripted.url}/api/models/list`)).json()) as { models: object[] }
    const { page } = await open()
    // The server has one model; the page is to see two.
    await page.route('**/api/models/list', (route) =>
      route.fulfill({ json: { models: [...models, { ...models[0], name: 'Again' }] } }),
    )
    await page.goto(`${scripted.url}/tools-testing`)
    await chooseModel(page, 'Scripted')
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await chooseModel(page, 'Scripted', /Compare with/)
    await page.getByLabel('Test Query').fill('Wait')
    await page.getByRole('button', { name: 'Run Test' }).click()
    const results = page.getByRole('region', { name: 'Test Results' })
    await expect.poll(() => results.getByRole('heading', { name: 'Scripted' }).count()).toBe(2)
    await page.getByRole('button', { name: 'Remove model 2' }).click()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Compare with another model')
    const cancel = results.getByRole('button', { name: 'Cancel' })
    expect(await cancel.count()).toBe(2)
    await cancel.first().click()
    await cancel.first().click()
    await page.getByRole('button', { name: 'Run Test' }).waitFor()
  })
})

test.runIf(FULL)('selects the only model', async () => {
  const scripted = await openScriptedServer(['Done.'])
  const { page } = await open()
  await page.goto(`${scripted.url}/tools-testing`)
  // The list of models may still be on its way.
  await page
    .getByRole('combobox', { name: /Select Model/ })
    .getByText('Scripted')
    .waitFor()
  await page.getByLabel('Test Query').fill('Anything')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('article').getByText('Done.').waitFor()
})
