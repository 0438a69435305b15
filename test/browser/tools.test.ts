import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audio, document, image, PNG } from '../../src/core/fixtures/media.ts'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { toolConfig } from '../../src/server/fixtures/open-tool-server.ts'
import { problemsByField } from '../../web/src/tools/form/problems-by-field.ts'
import { FULL } from '../setup/full.ts'
import { openPage as open } from './open-browser.ts'
import { manyTools } from './shipped-config.ts'

const ORDER = {
  type: 'object',
  required: ['customer', 'pay'],
  properties: {
    customer: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, email: { type: 'string', format: 'email' } },
    },
    items: {
      type: 'array',
      items: { type: 'object', properties: { what: { type: 'string' }, count: { type: 'integer', default: 1 } } },
    },
    tags: { type: 'array', items: { type: 'string' } },
    size: { enum: ['small', 'large'], default: 'small' },
    gift: { type: 'boolean' },
    pay: {
      oneOf: [
        { title: 'Card', type: 'object', properties: { card: { type: 'string' } }, required: ['card'] },
        { title: 'Cash', type: 'object', properties: { coins: { type: 'integer' } }, required: ['coins'] },
      ],
    },
  },
}

const LINK = { type: 'resource_link', uri: 'https://x.test/a.png', name: 'the original', mimeType: 'image/png' }

let server: TestServer
let written: unknown[]
const released = Promise.withResolvers<void>()
/** How many tools there are, as the page writes it. */
let total: string

beforeAll(async () => {
  written = []
  const { config, handlers } = toolConfig({
    order: { run: async (params) => ({ ordered: params }), parameters: ORDER, effect: 'read' },
    delete_all: {
      run: async (params) => {
        written.push(params)
        return 'gone'
      },
      effect: 'write',
      permissions: ['danger'],
      parameters: { type: 'object', properties: { table: { type: 'string' } } },
    },
    patient: {
      run: async () => {
        await released.promise
        written.push('patient')
        return 'done'
      },
      effect: 'write',
    },
    slow: {
      run: (_params, { signal, report }) =>
        new Promise((_resolve, reject) => {
          report({ percent: 40 })
          signal.addEventListener('abort', () => reject(new Error('stopped')))
        }),
      effect: 'read',
    },
    picture: { run: async () => ({ content: [image, audio, document, LINK] }), effect: 'read' },
    broken: { run: async () => 1, parameters: { type: 'object', properties: { a: { type: 'nonsense' } } } },
  })
  const steps = [
    { id: 'ask', tool: 'order', params: { customer: { name: { $: '$.params.name' } }, pay: { coins: 1 } } },
    {
      id: 'again',
      tool: 'order',
      params: { customer: { name: 'Bob' }, pay: { coins: 1 } },
      for_each: { $: '$.params.n' },
    },
    { id: 'show', tool: 'picture', when: { required: ['steps'] }, params: { of: { $: '$.steps.ask' } } },
  ]
  const pipeline = {
    ...{
      name: 'order_twice',
      description: 'Orders and shows.',
      implementation: { type: 'pipeline', steps, output: 'shown' },
    },
    parameters: { type: 'object', properties: { name: { type: 'string' }, n: { type: 'array' } } },
  }
  const greets = ['1.0.0', '2.0.0', '3.0.0-beta'].map((version) => ({
    ...{ name: 'greet', description: 'Greets.', version },
    parameters: {
      type: 'object',
      properties: version === '2.0.0' ? { tone: { type: 'string', default: 'kind' } } : {},
    },
    implementation: { type: 'mock', mock_response: version },
  }))
  const registry = [...(config.tools?.registry ?? []), pipeline, ...greets, ...manyTools(2_000)]
  server = await openTestServer(
    {
      tools: { enabled: true, registry, rollout: { greet: { current: '1.0.0' } } },
      tenants: { local: { flags: { danger: true } } },
    },
    { local: true, handlers },
  )
  await fetch(`${server.url}/tools/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tool_name: 'broken', params: {} }),
  })
  const { tools } = (await (await fetch(`${server.url}/api/page/tools`)).json()) as { tools: object[] }
  expect(tools.length).toBeGreaterThan(2_000)
  total = `${tools.length.toLocaleString('en')} tools`
})
afterAll(() => server.close())

const parameters = (page: Page) => page.getByRole('textbox', { name: 'Parameters as JSON' })
const sent = async (page: Page): Promise<unknown> => JSON.parse(await parameters(page).inputValue())

describe('the list', () => {
  test.runIf(FULL)('draws only the visible part of 2,000 tools and searches all of them', async () => {
    const { page, violations, picture } = await open()
    await page.goto(server.url)
    await page.getByText(total).waitFor()
    const drawn = await page.getByRole('listitem').count()
    expect(drawn).toBeGreaterThan(5)
    expect(drawn).toBeLessThan(60)
    await page.keyboard.press('End')
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
    await page.getByText('tool_1999').waitFor()
    expect(await violations()).toEqual([])
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('number 1234')
    await page.getByText(`1 of ${total}`).waitFor()
    await page.getByRole('link', { name: /tool_1234/ }).waitFor()
    await picture('tools-found')
    // The server finds misspelled words.
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('pickture')
    await page.getByRole('link', { name: /^picture/ }).waitFor()
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('qqq zzz')
    await page.getByText('No tools match').waitFor()
  })

  test.runIf(FULL)('filters by kind and effect and keeps the filters in the address', async () => {
    const { page } = await open()
    await page.goto(server.url)
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('internal')
    await page.getByRole('combobox', { name: 'Effect' }).selectOption('write')
    await page.getByText(`3 of ${total}`).waitFor()
    await page.reload()
    await page.getByText(`3 of ${total}`).waitFor()
    const row = page.getByRole('link', { name: /delete_all/ })
    expect(await row.textContent()).toMatch(/danger[\s\S]*internal[\s\S]*live write[\s\S]*configuration/)
  })

  test.runIf(FULL)('shows success rates, dashes without calls, and marks broken tools', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/?sort=failing`)
    const row = page.getByRole('listitem').first()
    await row.getByText('1 call').waitFor()
    expect(await row.textContent()).toMatch(/broken[\s\S]*0 %/)
    expect(await page.getByRole('link', { name: /tool_0000/ }).textContent()).toMatch(/configuration––$/)
    expect(await page.getByRole('link', { name: /broken/ }).textContent()).toContain('broken')
  })
})

test.runIf(FULL)('opens a tool from the palette, with the keyboard alone and in spite of a typing error', async () => {
  const { page, violations } = await open()
  await page.goto(`${server.url}/settings`)
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  // Settings has no search field. The palette has not been loaded yet, and no key is lost.
  await page.keyboard.press('/')
  await page.keyboard.type('pcture')
  await page.getByRole('option', { name: /^picture/, selected: true }).waitFor()
  expect(await violations()).toEqual([])
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'picture' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.getByText(total).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('delete')
  await expect.poll(() => page.getByRole('searchbox', { name: 'Search tools' }).inputValue()).toBe('delete')
})

test.runIf(FULL)('lists the shortcuts by a key and from the palette, and grows icons with the letters', async () => {
  const { page, violations } = await open()
  await page.goto(server.url)
  const search = page.getByRole('searchbox', { name: 'Search tools' })
  await search.press('?')
  expect(await search.inputValue()).toBe('?')
  await page.getByRole('link', { name: 'Toolyard' }).focus()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.getByText('Ctrl+Enter').waitFor()
  expect(await violations()).toEqual([])
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Toolyard' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('shortcuts')
  await page.getByRole('option', { name: /^Keyboard shortcuts/, selected: true }).waitFor()
  await page.keyboard.press('Enter')
  await help.locator(':focus').waitFor()
  expect(new URL(page.url()).hash).toBe('')
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 3_840, height: 2_160 })
  const icon = page.getByRole('button', { name: 'Go to' }).locator('svg')
  expect((await icon.boundingBox())?.width).toBeGreaterThan(30)
})

test.runIf(FULL)('fits 50 rows on 1,080 lines', async () => {
  const { page } = await open()
  await page.goto(server.url)
  await page.setViewportSize({ width: 1_920, height: 1_080 })
  await page.getByRole('button', { name: 'Compact rows' }).click()
  const visible = `[...document.querySelectorAll('main li')].filter((row) => {
    const { top, bottom } = row.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  }).length`
  await expect.poll(() => page.evaluate(visible)).toBeGreaterThanOrEqual(50)
  await page.reload()
  await expect.poll(() => page.evaluate(visible)).toBeGreaterThanOrEqual(50)
})

describe('a tool', () => {
  test.runIf(FULL)('with versions goes through a rollout from 10 % to promoted', async () => {
    const { page, violations, picture } = await open()
    const call = async (tool_name: string) => {
      const response = await fetch(`${server.url}/tools/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tool_name, params: {} }),
      })
      return ((await response.json()) as { result: string }).result
    }
    await page.goto(`${server.url}/tool/greet`)
    await page.getByText('version 1.0.0').waitFor()
    await page.getByRole('tab', { name: 'Versions' }).click()
    const rollout = page.getByRole('region', { name: 'Rollout' })
    await rollout.getByRole('combobox', { name: 'Candidate' }).selectOption('2.0.0')
    await rollout.getByRole('spinbutton', { name: 'Percent of callers' }).fill('10')
    await rollout.getByRole('button', { name: 'Start' }).click()
    const row = (version: string) => page.getByRole('row').filter({ hasText: version })
    await row('2.0.0').getByText('candidate, 10 %').waitFor()
    await page.getByText('Not enough calls yet: 2.0.0 has 0, 1.0.0 has 0, and each needs 100.').waitFor()
    for (let index = 0; index < 100; index++) await Promise.all([call('greet@1.0.0'), call('greet@2.0.0')])
    await page.reload()
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByText(/^No difference found: 2\.0\.0 fails between/).waitFor()
    expect(await row('2.0.0').textContent()).toMatch(/100100\.0 % \(9\d\.\d % – 100\.0 %\)/)
    expect(await violations()).toEqual([])
    await picture('versions')
    await rollout.getByRole('spinbutton', { name: 'Percent of callers' }).fill('100')
    await rollout.getByRole('button', { name: 'Change' }).click()
    await row('2.0.0').getByText('candidate, 100 %').waitFor()
    expect(await call('greet')).toBe('2.0.0')
    await rollout.getByRole('button', { name: 'Promote' }).click()
    await row('2.0.0').getByText('current', { exact: true }).waitFor()
    await page.getByText('version 2.0.0').waitFor()
    expect(await call('greet')).toBe('2.0.0')
    const audit = await fetch(`${server.url}/audit?type=event&tenant=*&limit=3`)
    const { rows } = (await audit.json()) as { rows: { event: string; subject: string }[] }
    expect(rows.map(({ event, subject }) => [event, subject])).toEqual(
      ['rollout.promoted', 'rollout.started', 'rollout.started'].map((event) => [event, 'greet']),
    )
    await expect.poll(() => sent(page)).toEqual({ tone: 'kind' })
    await page.getByRole('button', { name: 'Make current: 1.0.0' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Make current' }).click()
    await row('1.0.0').getByText('current', { exact: true }).waitFor()
    await page.getByText('version 1.0.0').waitFor()
    // The parameters of the other version are gone.
    await expect.poll(() => sent(page)).toEqual({})
    expect(await call('greet')).toBe('1.0.0')
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('columnheader', { name: 'Version' }).waitFor()
  })

  test.runIf(FULL)('that is a pipeline shows its steps and the values of its last run', async () => {
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/tool/order_twice`)
    await page.getByRole('img', { name: 'Steps: ask; again; show after ask' }).waitFor()
    await page.getByText('It has not run on this server yet.').waitFor()
    await parameters(page).fill('{"name": "Ada", "n": [1, 2]}')
    await page.getByRole('button', { name: 'Run' }).click()
    const row = page.getByRole('row', { name: /^ask order/ })
    await row.getByText('done').waitFor()
    expect(await row.textContent()).toContain('"name":"Ada"')
    await page.getByText(/Last run on this server: .*successful/).waitFor()
    expect(await violations()).toEqual([])
    await picture('pipeline')
    await row.getByRole('link', { name: 'order' }).click()
    await page.getByRole('heading', { name: 'order', exact: true }).waitFor()
  })

  test.runIf(FULL)('keeps the form and the JSON in step', async () => {
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/tool/order`)
    await page.getByLabel('name', { exact: false }).first().fill('Ada')
    await page.getByRole('button', { name: 'Add' }).first().click()
    await page.getByLabel('what').fill('tea')
    await page.getByLabel('size').selectOption('large')
    await page.getByRole('checkbox', { name: 'gift' }).check()
    await page.getByRole('textbox', { name: 'card' }).fill('4242')
    await expect
      .poll(() => sent(page))
      .toEqual({
        customer: { name: 'Ada' },
        items: [{ what: 'tea', count: 1 }],
        size: 'large',
        gift: true,
        pay: { card: '4242' },
      })
    expect(await violations()).toEqual([])
    await picture('tool-form')
    await parameters(page).fill('{"customer": {"name": "Grace"}, "tags": ["a", "b"], "pay": {"coins": 3}}')
    await expect.poll(() => page.getByLabel('coins').inputValue()).toBe('3')
    expect(await page.getByLabel('name', { exact: false }).first().inputValue()).toBe('Grace')
    await parameters(page).fill('{"customer": ')
    await page.getByText(/JSON/).last().waitFor()
    expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true)
    expect(await parameters(page).getAttribute('aria-invalid')).toBe('true')
  })

  test.runIf(FULL)('folds its schema with Enter, Space and arrow keys, and names each node', async () => {
    const { page, violations } = await open()
    await page.goto(`${server.url}/tool/order`)
    const tree = page.getByRole('tree', { name: 'Schema of the parameters' })
    const focused = (name: string) => tree.getByRole('treeitem', { name, exact: true }).and(page.locator(':focus'))
    await tree.getByRole('treeitem').first().focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await focused('required: 2 items').press('Enter')
    await tree.getByText('"customer"').waitFor()
    await focused('required: 2 items').press('ArrowRight')
    await focused('1: "customer"').press('ArrowLeft')
    await focused('required: 2 items').press(' ')
    await expect.poll(() => tree.getByText('"customer"').count()).toBe(0)
    await page.keyboard.press('End')
    await page.keyboard.press('Home')
    await focused('3 fields').press('ArrowLeft')
    await expect.poll(() => tree.getByRole('treeitem').count()).toBe(1)
    expect(await violations()).toEqual([])
  })

  test('runs and shows the result, the history and the call as code', async () => {
    const { page, context, picture } = await open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${server.url}/tool/tool_0007`)
    await page.getByLabel('id').fill('5')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('execution_time_ms').waitFor()
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('cell', { name: 'success' }).first().waitFor()
    await page
      .getByRole('link', { name: /^open the call of / })
      .first()
      .waitFor()
    await page.getByRole('tab', { name: 'Copy as' }).click()
    await picture('tool-copy')
    const copied = async (name: string) => {
      await page.getByRole('button', { name: `Copy ${name}` }).click()
      await page.getByText('Copied').first().waitFor()
      return page.evaluate('navigator.clipboard.readText()')
    }
    expect(await copied('CLI')).toBe(`npx toolyard exec tool_0007 '{"id":5}'`)
    expect(await copied('curl')).toContain(`curl -s ${server.url}/tools/execute`)
    expect(await copied('TypeScript')).toContain(`fetch("${server.url}/tools/execute"`)
    expect(await copied('Python')).toContain('urllib.request.urlopen(request)')
    expect(JSON.parse((await copied('result')) as string)).toMatchObject({ success: true, tool_name: 'tool_0007' })
  })

  test('shows validation errors at the fields', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/tool/order`)
    await page.getByLabel('name', { exact: false }).first().waitFor()
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('INVALID_PARAMETERS').first().waitFor()
    await page.getByText('customer is required.').first().waitFor()
    expect(problemsByField([{ path: 'size', rule: 'enum', expected: ['small', 'large'] }])).toEqual({
      size: { __errors: ['Must be small or large'] },
    })
    // A field that was filled in is not missing any more.
    await page.getByLabel('name', { exact: false }).first().fill('Ada')
    await expect.poll(() => page.getByText('customer is required.').count()).toBe(0)
  })

  test.runIf(FULL)('shows a value that is not allowed in the form, too', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/tool/order`)
    await page.getByLabel('size').waitFor()
    await parameters(page).fill('{"customer": {"name": "Ada"}, "pay": {"coins": 1}, "size": "huge"}')
    const size = page.getByLabel('size')
    await expect.poll(() => size.locator('option:checked').textContent()).toBe('"huge" (not allowed)')
    await page.getByLabel('name', { exact: false }).first().fill('Grace')
    await expect.poll(() => sent(page)).toMatchObject({ customer: { name: 'Grace' }, size: 'huge' })
    await page.keyboard.press('Control+Enter')
    await page.getByText('Must be small or large').waitFor()
    expect(await size.getAttribute('aria-invalid')).toBe('true')
    const border = async (field: Locator) =>
      page.evaluate(`getComputedStyle(document.getElementById('${await field.getAttribute('id')}')).borderColor`)
    const name = page.getByLabel('name', { exact: false }).first()
    expect(await border(size)).not.toBe(await border(name))
    await size.selectOption('large')
    await expect.poll(() => size.getAttribute('aria-invalid')).toBe('false')
    await expect.poll(() => sent(page)).toMatchObject({ size: 'large' })
    expect(await page.getByText('Must be small or large').count()).toBe(0)
    await page.getByLabel('name', { exact: false }).first().press('Enter')
    await page.getByText('Succeeded after').waitFor({ state: 'attached' })
  })

  test('runs a write only after confirmation', async () => {
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/tool/delete_all`)
    await page.getByLabel('table').fill('users')
    await page.getByRole('button', { name: 'Run (live write)' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('"table": "users"').waitFor()
    expect(await violations()).toEqual([])
    await picture('tool-confirm')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    expect(written).toEqual([])
    await page.getByRole('button', { name: 'Run (live write)' }).click()
    await dialog.getByRole('button', { name: 'Run it' }).click()
    await page.getByText('"gone"').waitFor()
    expect(written).toEqual([{ table: 'users' }])
  })

  test.runIf(FULL)('shows images, audio and files of a result, and loads no links', async () => {
    const { page } = await open()
    const loaded: string[] = []
    page.on('request', (request) => loaded.push(request.url()))
    await page.goto(`${server.url}/tool/picture`)
    await page.getByRole('button', { name: 'Run' }).click()
    const media = page.getByRole('list', { name: 'Media' })
    await expect.poll(() => media.locator('img').evaluate((one) => Reflect.get(one, 'naturalWidth'))).toBe(1)
    // The policy of the page lets the browser read it.
    await expect.poll(() => media.locator('audio').evaluate((one) => Reflect.get(one, 'readyState'))).toBeGreaterThan(0)
    const file = media.getByRole('link', { name: 'Download plan.pdf' })
    expect(await file.getAttribute('href')).toBe(`data:application/pdf;base64,${document.data}`)
    expect(await media.getByRole('link', { name: 'the original' }).getAttribute('href')).toBe(LINK.uri)
    expect(loaded.filter((url) => url.includes('x.test'))).toEqual([])
    expect(await page.getByText(PNG).count()).toBe(0)
  })

  test('a call goes on when its page is left, and the browser asks before it closes a write', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/tool/patient`)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Run' }).click()
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    const asked = page.waitForEvent('dialog')
    const closing = page.close({ runBeforeUnload: true })
    const dialog = await asked
    expect(dialog.type()).toBe('beforeunload')
    await dialog.dismiss()
    await closing
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByRole('heading', { name: 'Models', exact: true }).waitFor()
    released.resolve()
    await page.getByText('The call of patient succeeded.').waitFor()
    expect(written).toContain('patient')
    await page.getByRole('link', { name: 'Calls', exact: true }).click()
    await page.waitForURL(/\/activity\/calls\?tool=patient$/)
  })

  test.runIf(FULL)('shows the progress of a slow call and cancels it', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/tool/slow`)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('percent').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('The call was cancelled.').waitFor()
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('cell', { name: 'CANCELLED' }).waitFor()
  })
})
