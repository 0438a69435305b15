import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { AuditRow } from '../../src/core/storage/ledger.ts'
import type { StoredRun } from '../../src/core/storage/run-store.ts'
import { openScriptedServer } from '../../src/server/fixtures/open-scripted-server.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { toolConfig } from '../../src/server/fixtures/open-tool-server.ts'
import { FULL } from '../setup/full.ts'
import { addressOf, type BusyServer, HOUR, openBusyServer } from './busy-server.ts'
import { openPage as open } from './open-browser.ts'

let server: BusyServer

beforeAll(async () => {
  server = await openBusyServer()
})
afterAll(() => server.close())

const newest = async (query = ''): Promise<readonly AuditRow[]> =>
  (await server.answer<{ rows: AuditRow[] }>(`/audit?limit=1000&type=call${query}`)).rows

/** The tools of the rows that are shown. */
const shownTools = (page: Page) => page.locator('tbody button').allTextContents()

/** What a download says, and what it is called. */
async function downloaded(page: Page, format: string) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: `Export ${format}` }).click(),
  ])
  return { name: download.suggestedFilename(), text: await text(await download.createReadStream()) }
}

describe('the audit log', () => {
  test('lists the calls that were made and opens a row', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity`)
    await page.getByText('50 calls, and more').waitFor()
    const rows = await newest()
    expect(await shownTools(page)).toEqual(rows.slice(0, 50).map(({ tool }) => tool))
    const row = rows.find(({ tool }) => tool === 'broken') as AuditRow
    await page.getByRole('button', { name: 'broken' }).click()
    await page.getByText(row.params_hash as string).waitFor()
    await page.getByText(row.hash, { exact: true }).waitFor()
    expect(await page.content()).not.toContain('never kept')
    await page.getByRole('link', { name: 'broken', exact: true }).click()
    await page.waitForURL(`${server.url}/tool/broken`)
  })

  test.runIf(FULL)('loads more on request, with one request per page', async () => {
    const { page, asked } = await open({ fresh: true })
    await page.clock.install()
    await page.goto(`${server.url}/activity`)
    await page.getByRole('button', { name: 'Load more' }).click()
    const rows = await newest()
    await page.getByText(`${rows.length} calls`, { exact: true }).waitFor()
    expect(await shownTools(page)).toEqual(rows.map(({ tool }) => tool))
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0)
    await page.clock.runFor(1_000)
    expect(asked.filter((url) => url.includes('/audit?'))).toHaveLength(2)
  })

  test.runIf(FULL)('filters by tool and outcome and keeps the filters in the address', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity`)
    await page.getByRole('combobox', { name: 'Tool' }).fill('hello')
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('failure')
    const failed = await newest('&tool=hello&outcome=failure')
    expect(failed.length).toBeGreaterThan(0)
    await page.getByText(`${failed.length} calls`, { exact: true }).waitFor()
    expect(addressOf(page)).toEqual({ tool: 'hello', outcome: 'failure' })
    await page.reload()
    await page.getByText(`${failed.length} calls`, { exact: true }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Tool' }).inputValue()).toBe('hello')
    expect(new Set(await shownTools(page))).toEqual(new Set(['hello']))
    await page.getByRole('combobox', { name: 'Error' }).selectOption('CANCELLED')
    await page.getByText('No matching calls').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('50 calls, and more').waitFor()
    expect(addressOf(page)).toEqual({})
  })

  test.runIf(FULL)('filters by a fixed or a relative time', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity?last=1h`)
    const recent = await newest(`&from=${new Date(Date.now() - HOUR).toISOString()}`)
    await page.getByText(`${recent.length} calls`, { exact: true }).waitFor()
    await page.getByRole('combobox', { name: 'Time' }).selectOption('chosen')
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00')
    await page.getByText('No matching calls').waitFor()
    expect(new URL(page.url()).searchParams.get('to')).toMatch(/^20(19|20)-/)
  })

  test.runIf(FULL)('shows events with their details', async () => {
    const { page } = await open()
    await server.installation.events.record('flag.set', {
      by: { id: 'key-1', name: 'ops' },
      tenant: 'local',
      subject: 'search',
      detail: { old: null, new: true },
    })
    await page.goto(`${server.url}/activity`)
    await page.getByRole('combobox', { name: 'Show' }).selectOption('event')
    await page.getByText('1 event', { exact: true }).waitFor()
    expect(addressOf(page)).toEqual({ type: 'event' })
    await page.getByRole('button', { name: 'flag.set' }).click()
    await page.getByText('A flag of the tenant was set.').waitFor()
    await page.getByText('{"by":"ops","old":null,"new":true}').waitFor()
    await page.getByRole('combobox', { name: 'Show' }).selectOption('call')
    await page.getByText('50 calls, and more').waitFor()
    expect(await shownTools(page)).not.toContain('flag.set')
  })

  test.runIf(FULL)('exports all filtered calls', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity?tool=slow`)
    const rows = await newest('&tool=slow')
    await page.getByText(`${rows.length} calls`, { exact: true }).waitFor()
    const csv = await downloaded(page, 'CSV')
    expect(csv.name).toMatch(/^audit-.*\.csv$/)
    const lines = csv.text.trim().split('\r\n')
    expect(lines[0]).toMatch(/^id,time,tenant/)
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(rows.map(({ id }) => id))
    const json = await downloaded(page, 'JSON')
    // Names are those of now: the record keeps ids only.
    expect(JSON.parse(json.text)).toEqual(rows.map((row) => ({ ...row, caller_name: undefined })))
  })

  test.runIf(FULL)('calls are linked from a run and from a tool', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/runs/${server.runId}`)
    await page.getByRole('link', { name: 'Its calls' }).click()
    await page.waitForURL(`${server.url}/activity/calls?run_id=${server.runId}`)
    await page
      .getByText(/^(No matching calls|\d+ calls?)$/)
      .first()
      .waitFor()
    await page.goto(`${server.url}/tool/hello`)
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('link', { name: 'All calls' }).click()
    await page.waitForURL(`${server.url}/activity/calls?tool=hello`)
    const { length } = await newest('&tool=hello')
    await page.getByText(`${length} calls`, { exact: true }).waitFor()
  })

  test.runIf(FULL)('shows the runs of agents below a run, and what all of them cost', async () => {
    const figures = { duration_ms: 10, stop_reason: 'stop', iterations: 1, tool_calls: 0, cost: 0.5, error: null }
    const tokens = { prompt_tokens: 100, completion_tokens: 20 }
    const run = (id: string, model: string, parent_run?: string): StoredRun => ({
      ...{ id, tenant: 'local', caller: null, model, service: 'test', started_at: new Date().toISOString(), steps: [] },
      ...{ ...figures, ...tokens, question: 'Go', answer: 'Done', ...(parent_run !== undefined && { parent_run }) },
    })
    const { sink } = server.installation
    for (const one of [run('top', 'a:boss'), run('mid', 'a:helper', 'top'), run('low', 'a:deep', 'mid')]) sink.run(one)
    await sink.flush()
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/runs/top`)
    const tree = page.getByRole('table', { name: /Timeline/ })
    await tree.getByRole('row', { name: /^Total .*2 agents .*360 \$1\.5$/ }).waitFor()
    expect(await violations()).toEqual([])
    await picture('run-agents')
    await tree.getByRole('link', { name: 'a:deep' }).click()
    await page.waitForURL(`${server.url}/runs/low`)
  })

  test.runIf(FULL)('leads from a row to the parameters and the result of its call', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity?tool=broken`)
    await page.getByRole('button', { name: 'broken' }).click()
    await page.getByRole('link', { name: 'Parameters and result' }).click()
    await page.getByRole('region', { name: 'Error' }).getByText('It broke').waitFor()
    await page.getByRole('link', { name: 'Open its tool' }).click()
    await page.waitForURL(`${server.url}/tool/broken`)
  })

  test.runIf(FULL)('works with the keyboard alone', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity`)
    await page.getByRole('button', { name: 'hello' }).first().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Copy as JSON' }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('hello')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Copy as JSON' }).waitFor({ state: 'hidden' })
  })

  test.runIf(FULL)('reports invalid filters and offers to clear them', async () => {
    const { page, violations } = await open({ mayComplain: /400/ })
    await page.goto(`${server.url}/activity?outcome=maybe`)
    await page.getByRole('alert').getByText('Could not load the audit log').waitFor()
    expect(await violations()).toEqual([])
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('50 calls, and more').waitFor()
  })

  test.runIf(FULL)('passes axe and fits with filters and an open row', async () => {
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/activity?outcome=failure&last=24h`)
    await page.getByRole('button', { name: 'broken' }).click()
    await page.getByText('Copy as JSON').waitFor()
    await checkLooks('activity-open')
    await page.getByText('Copy as JSON').waitFor()
  })
})

test.runIf(FULL)('shows empty states for calls and metrics', async () => {
  const empty = await openTestServer({}, { local: true })
  onTestFinished(() => empty.close())
  const { page, violations, picture } = await open()
  await page.goto(`${empty.url}/activity`)
  await page.getByText('No calls yet').waitFor()
  expect(await violations()).toEqual([])
  await page.getByRole('link', { name: 'Metrics' }).click()
  await page.getByText('No calls in this period').waitFor()
  await page.getByText('No runs in this period').waitFor()
  expect(await violations()).toEqual([])
  await picture('metrics-empty')
})

test.runIf(FULL)('limits the audit log to the scopes of the key', async () => {
  const { config, handlers } = toolConfig({ hello: async () => 'world' })
  const keyed = await openTestServer(config, { local: true, handlers })
  onTestFinished(() => keyed.close())
  const acme = await keyed.key('acme', 'operator')
  const whole = await keyed.key('hq', 'operator', ['read', 'observe', 'installation'])
  const bare = await keyed.key('acme', 'operator', ['read'])
  await fetch(`${keyed.url}/tools/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': acme },
    body: JSON.stringify({ tool_name: 'hello', params: {} }),
  })
  const { page } = await open()
  await page.goto(`${keyed.url}/activity`)
  const signIn = async (key: string) => {
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const signOut = () => page.getByRole('button', { name: 'Sign out' }).click()
  await signIn(bare)
  await page.getByText('Your key can’t view calls').waitFor()
  await signOut()
  await signIn(acme)
  await page.getByText('1 call', { exact: true }).waitFor()
  expect(await page.getByRole('searchbox', { name: 'Tenant' }).count()).toBe(0)
  await signOut()
  await signIn(whole)
  await page.getByText('No calls yet').waitFor()
  await page.getByRole('searchbox', { name: 'Tenant' }).fill('*')
  await page.getByText('1 call', { exact: true }).waitFor()
  expect(await downloaded(page, 'JSON')).toMatchObject({ text: expect.stringContaining('"tenant":"acme"') })
})

test('saves filters as a view, which is opened from the palette, pinned, renamed, deleted and restored', async () => {
  const { page, checkLooks } = await open()
  await page.goto(`${server.url}/activity/calls?outcome=failure`)
  await page.getByRole('button', { name: 'Save this view' }).click()
  await page.getByLabel('Name of the view').fill('Broken calls')
  await page.keyboard.press('Enter')
  const bar = page.getByRole('region', { name: 'Saved views' })
  await bar.getByRole('link', { name: 'Broken calls' }).waitFor()
  await page.goto(`${server.url}/activity/metrics?window=7d`)
  await page.getByRole('button', { name: 'Save this view' }).click()
  await page.getByLabel('Name of the view').fill('Week')
  await page.getByLabel(/^Share with/).check()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await bar.getByRole('link', { name: 'Week' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).fill('broken calls')
  await page.getByRole('option', { name: /Broken calls.*view/ }).click()
  await page.waitForURL(`${server.url}/activity/calls?outcome=failure`)

  await page.goto(`${server.url}/activity/views`)
  for (const name of ['Broken calls', 'Week']) await page.getByRole('button', { name: `Pin ${name}` }).click()
  const pinned = page.getByRole('region', { name: 'Pinned' })
  await pinned.getByText(/^\d+ calls$/).waitFor()
  await pinned.getByText(/successful, p95/).waitFor()
  await checkLooks('views')
  await page.getByRole('button', { name: 'Rename Broken calls' }).click()
  await page.getByLabel('Name of the view').fill('Failures')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Delete Failures' }).click()
  await expect.poll(() => page.getByRole('link', { name: 'Failures' }).count()).toBe(0)
  const undo = page.getByRole('button', { name: 'Undo' })
  // The button stands beside a short text, not below it.
  const [words, button] = [await page.getByText('Deleted “Failures”').boundingBox(), await undo.boundingBox()]
  expect(button?.y).toBeLessThan((words?.y ?? 0) + (words?.height ?? 0))
  await undo.click()
  await pinned.getByRole('link', { name: 'Failures' }).waitFor()
})

test.runIf(FULL)('shows the details of a step beside the tree, and images in full size', async () => {
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = (name: string) => ({ type: 'image', media_type: 'image/png', data, name })
  const yard = await openScriptedServer([{ calls: [{ name: 'paint', arguments: { what: 'dots' } }] }, 'Done.'], {
    tools: { paint: async () => ({ content: [image('one.png'), image('two.png')] }) },
    definition: { effect: 'read' },
  })
  const { page, checkLooks, violations } = await open()
  await page.goto(`${yard.url}/tool/paint`)
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('button', { name: 'Enlarge one.png' }).click()
  const box = page.getByRole('dialog', { name: 'one.png' })
  await box.getByText('1 of 2').waitFor()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('dialog', { name: 'two.png' }).waitFor()
  expect(await violations()).toEqual([])
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)

  const body = JSON.stringify({ query: 'Paint', model: yard.model.id })
  const headers = { 'content-type': 'application/json' }
  const made = await fetch(`${yard.url}/api/tools/test`, { method: 'POST', headers, body })
  const { run_id } = (await made.json()) as { run_id: string }
  await page.goto(`${yard.url}/runs/${run_id}`)
  await page.getByRole('button', { name: 'Details of paint' }).click()
  const panel = page.getByRole('complementary', { name: 'Details of paint' })
  await panel.getByText('"dots"').waitFor()
  await panel.getByRole('link', { name: 'Open the call' }).waitFor()
  await checkLooks('step-panel')
  await page.getByRole('button', { name: 'Details of Turn 2' }).click()
  await page.getByRole('complementary', { name: 'Details of Turn 2' }).getByText('Done.').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('complementary').count()).toBe(0)
})

describe('runs and calls', () => {
  test.runIf(FULL)('runs are filtered by what the URL says, and new ones appear by themselves', async () => {
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/activity/runs?model=mini:other`)
    const list = page.getByRole('list', { name: 'Runs' })
    await page.getByText('4 runs', { exact: true }).waitFor()
    await page.getByRole('combobox', { name: 'Status' }).selectOption('error')
    await page.waitForURL(/stop_reason=error/)
    await page.getByText('No matching runs').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await list.getByRole('link').first().waitFor()
    await checkLooks('runs')
    const made: StoredRun = {
      ...{ id: 'fresh', tenant: 'local', caller: null, model: 'a:b', service: 'test', duration_ms: 10, steps: [] },
      ...{ started_at: new Date().toISOString(), stop_reason: 'stop', iterations: 1, tool_calls: 0, cost: null },
      ...{ prompt_tokens: 1, completion_tokens: 1, error: null, question: 'A fresh question', answer: 'Yes' },
    }
    server.installation.sink.run(made)
    await list.getByRole('link', { name: /A fresh question/ }).click()
    await page.waitForURL(`${server.url}/runs/fresh`)
  })

  test.runIf(FULL)('a run that waits is listed as in progress, opened and cancelled', async () => {
    const waiting = await openScriptedServer([{ calls: [{ name: 'pay' }] }], {
      tools: { pay: async () => 'paid' },
      definition: { effect: 'write' },
    })
    const body = JSON.stringify({ query: 'Pay the bill', model: waiting.model.id, ask_writes: true })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${waiting.url}/api/tools/test`, { method: 'POST', headers, body })
    const { page, checkLooks } = await open()
    await page.goto(`${waiting.url}/activity/runs`)
    const inProgress = page.getByRole('region', { name: /In progress/ })
    await inProgress.getByText('waits for approval').waitFor()
    await checkLooks('runs-open')
    await inProgress.getByRole('link', { name: /Pay the bill/ }).click()
    await page.getByRole('heading', { name: 'Pay the bill' }).waitFor()
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Runs', exact: true }).first().click()
    await page.getByRole('list', { name: 'Runs' }).getByText('cancelled').waitFor()
    expect(await inProgress.count()).toBe(0)
  })

  test('leads from a chat to its run, to a call of it, and copies the call as code', async () => {
    const chatty = await openScriptedServer([{ calls: [{ name: 'look', arguments: { at: 'sky' } }] }, 'Blue.'], {
      tools: { look: async () => 'a clear view' },
      definition: { effect: 'read' },
    })
    const message = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Which colour?' }] }
    const body = JSON.stringify({ id: 'first', messages: [message], trigger: 'submit-message' })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${chatty.url}/api/ai-sdk/chat`, { method: 'POST', headers, body })).text()
    const { page, context, checkLooks } = await open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: chatty.url })
    await page.goto(`${chatty.url}/activity/chats`)
    await page.getByRole('link', { name: /Which colour\?/ }).click()
    await page.getByText('Blue.').waitFor()
    expect(await page.getByText('a clear view').isVisible()).toBe(false)
    await page.locator('summary').first().click()
    await page.getByText('a clear view').waitFor()
    await checkLooks('chat')
    await page.getByRole('link', { name: /Open the run/ }).click()
    await page.getByRole('heading', { name: 'Which colour?' }).waitFor()
    await page.getByRole('link', { name: 'Open the call' }).click()
    await page.getByRole('region', { name: 'Result' }).getByText('a clear view').waitFor()
    await page.getByRole('button', { name: 'Copy as', exact: true }).click()
    await page.getByRole('menuitem', { name: 'curl' }).click()
    await page.getByText('Copied curl').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('"params":{"at":"sky"}')
  })

  test.runIf(FULL)('50 calls fit on 1,080 lines', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity/calls`)
    await page.setViewportSize({ width: 1_920, height: 1_080 })
    await page.getByRole('button', { name: 'Compact rows' }).click()
    const visible = `[...document.querySelectorAll('main li[data-index]')].filter((row) => {
      const { top, bottom } = row.getBoundingClientRect()
      return top >= 0 && bottom <= innerHeight
    }).length`
    await expect.poll(() => page.evaluate(visible)).toBeGreaterThanOrEqual(50)
  })

  test.runIf(FULL)('a misspelled tool is suggested in the list of calls', async () => {
    const { page, violations } = await open()
    await page.goto(`${server.url}/activity/calls?tool=helo`)
    const suggested = page.getByRole('button', { name: 'hello', exact: true })
    await suggested.waitFor()
    expect(await violations()).toEqual([])
    await suggested.press('Enter')
    await page.getByRole('list', { name: 'Calls' }).getByRole('link').first().waitFor()
    const field = page.getByRole('combobox', { name: 'Tool' }).and(page.locator(':focus'))
    expect(await field.inputValue()).toBe('hello')
  })

  test.runIf(FULL)('a call is opened, run again with its parameters, and made a test that can be edited', async () => {
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/activity/calls?tool=hello&outcome=success`)
    await page.getByText(/are stored for 7 days/).waitFor()
    const calls = page.getByRole('list', { name: 'Calls' })
    const preview = calls.getByText('secret: "[redacted]"', { exact: true })
    expect(await preview.getAttribute('title')).toBe('secret: "[redacted]"')
    // Calls without parameters have no preview.
    expect(await calls.locator('[title]').count()).toBe(1)
    await checkLooks('calls')
    await calls.getByRole('link').nth(1).click()
    await page.getByRole('region', { name: 'Parameters' }).getByText('[redacted]').waitFor()
    await checkLooks('call')
    const address = page.url()
    await page.getByRole('link', { name: 'Run again with these' }).click()
    await page.getByText('Secrets were removed from them').waitFor()
    expect(await page.getByRole('textbox', { name: 'Parameters as JSON' }).inputValue()).toContain('"secret"')
    await page.goto(address)
    await page.getByRole('button', { name: 'Make this a test' }).press('Enter')
    await page.getByRole('link', { name: 'Edit the test' }).and(page.locator(':focus')).press('Enter')
    const test = page.getByRole('article', { name: /call-hello/ })
    await test.getByRole('textbox', { name: 'What the user asks' }).fill('Say hello')
    const expected = test.getByRole('textbox', { name: 'Expected, as JSON' })
    const before = await expected.inputValue()
    await expected.fill('{')
    await test.getByText('Expected is not a JSON object.').waitFor()
    await expected.fill(before)
    await checkLooks('saved-suite')
    await test.getByRole('button', { name: 'Save' }).press('Enter')
    await test.getByRole('heading', { name: 'Say hello' }).waitFor()
    await page
      .getByRole('status')
      .getByText(/Saved the test call-hello/)
      .waitFor()
    await test.getByRole('button', { name: 'Edit' }).and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'Run the suite' }).press('Enter')
    await page.getByRole('region', { name: 'Run a suite' }).locator('input:focus').waitFor()
    await page.goBack()
    await test.getByRole('button', { name: 'Remove' }).click()
    await page.waitForURL(`${server.url}/models`)
    await page.getByText(/Removed the test call-hello/).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await test.getByRole('heading', { name: 'Say hello' }).waitFor()
  })
})
