import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AuditRow } from '../../src/core/storage/audit.ts'
import type { CallSeriesMetrics, ExecutionMetrics, RunSeriesMetrics } from '../../src/core/storage/metrics.ts'
import type { StoredRun } from '../../src/core/storage/run-store.ts'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { toolConfig } from '../../src/server/fixtures/open-tool-server.ts'
import { call as callEntry } from '../../src/testing/storage/call-entry.ts'
import { useBrowser } from './open-browser.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const open = useBrowser()
let server: TestServer
let runId: string

const HOUR = 3_600_000
const PAST = 70

beforeAll(async () => {
  const { config, handlers } = toolConfig({
    hello: async () => 'world',
    broken: async () => Promise.reject(new Error('It broke')),
  })
  const models = [
    { id: 'mini:v0', name: 'Mini', capabilities: ['function-calling' as const], prices: { input: 2, output: 8 } },
  ]
  server = await openTestServer({ ...config, models }, { local: true, handlers })
  await server.installation.storage.ledger.append(
    Array.from({ length: PAST }, (_, index) =>
      callEntry({
        at: Date.now() - 2 * HOUR - index * 0.25 * HOUR,
        tenant: 'local',
        caller: 'local',
        tool: index % 3 === 0 ? 'hello' : 'slow',
        code: index % 7 === 0 ? 'TIMEOUT' : index % 11 === 0 ? 'RATE_LIMITED' : null,
        durationMs: 20 + ((index * 37) % 400),
      }),
    ),
    Array.from({ length: 9 }, (_, index) => storedRun(index)),
  )
  await call('hello', { secret: 'never kept' })
  await call('hello', {})
  await call('broken', {})
  const answer = await post('/api/tools/test', { query: 'hello', model: 'mini:v0' })
  runId = ((await answer.json()) as { run_id: string }).run_id
})
afterAll(() => server.close())

/** A run of some hours ago that went through a few rounds. */
const storedRun = (index: number): StoredRun => ({
  id: `run-${index}`,
  tenant: 'local',
  caller: 'local',
  model: index % 2 === 0 ? 'mini:v0' : 'mini:other',
  service: 'chat',
  started_at: new Date(Date.now() - (2 + index) * HOUR).toISOString(),
  duration_ms: 900,
  stop_reason: index === 4 ? 'max_iterations' : 'stop',
  iterations: 1 + (index % 5),
  tool_calls: 2,
  prompt_tokens: 100,
  completion_tokens: 20,
  cost: 0.01 * (1 + (index % 3)),
  error: null,
  question: 'Why?',
  answer: 'Because.',
  steps: [],
})

const post = (path: string, body: unknown) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const call = (tool_name: string, params: object) => post('/tools/execute', { tool_name, params })
const answer = async <Answer>(path: string) => (await (await fetch(server.url + path)).json()) as Answer
const newest = async (query = ''): Promise<readonly AuditRow[]> =>
  (await answer<{ rows: AuditRow[] }>(`/audit?limit=1000${query}`)).rows

/** The choices that stand in the address. */
const addressOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

/** The tools of the rows that are shown. */
const shownTools = (page: Page) => page.locator('tbody button').allTextContents()

/** What a download says, and what it is called. */
async function downloaded(page: Page, format: string) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: `Export ${format}` }).click(),
  ])
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') }
}

describe('the audit log', () => {
  test('has the calls that were made, and a row opens', async () => {
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/activity`)
    await page.getByText('50 calls, and more').waitFor()
    const rows = await newest()
    expect(await shownTools(page)).toEqual(rows.slice(0, 50).map(({ tool }) => tool))
    const row = rows.find(({ tool }) => tool === 'broken') as AuditRow
    await page.getByRole('button', { name: 'broken' }).click()
    await page.getByText(row.params_hash as string).waitFor()
    await page.getByText(row.hash, { exact: true }).waitFor()
    expect(await page.content()).not.toContain('never kept')
    expect(await violations()).toEqual([])
    await picture('activity-open')
    await page.getByRole('link', { name: 'broken', exact: true }).click()
    await page.waitForURL(`${server.url}/tool/broken`)
  })

  test('gives more where there is more, and asks once for each page', async () => {
    const { page, asked } = await open()
    await page.goto(`${server.url}/activity`)
    await page.getByRole('button', { name: 'Load more' }).click()
    const rows = await newest()
    await page.getByText(`${rows.length} calls`, { exact: true }).waitFor()
    expect(await shownTools(page)).toEqual(rows.map(({ tool }) => tool))
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0)
    await page.waitForTimeout(1_000)
    expect(asked.filter((url) => url.includes('/audit?'))).toHaveLength(2)
  })

  test('is narrowed down by tool and outcome, and the address carries it', async () => {
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
    await page.getByText('No call fits').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('50 calls, and more').waitFor()
    expect(addressOf(page)).toEqual({})
  })

  test('is narrowed down by time, named or counted back', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity?last=1h`)
    const recent = await newest(`&from=${new Date(Date.now() - HOUR).toISOString()}`)
    await page.getByText(`${recent.length} calls`, { exact: true }).waitFor()
    await page.getByRole('combobox', { name: 'Time' }).selectOption('chosen')
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00')
    await page.getByText('No call fits').waitFor()
    expect(new URL(page.url()).searchParams.get('to')).toMatch(/^20(19|20)-/)
  })

  test('is exported as it is narrowed down, whole', async () => {
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
    expect(JSON.parse(json.text)).toEqual(rows)
  })

  test('of a run and of a tool are a link away', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/runs/${runId}`)
    await page.getByRole('link', { name: 'Its calls in the audit log' }).click()
    await page.waitForURL(`${server.url}/activity?run_id=${runId}`)
    await page
      .getByText(/^(No call fits|\d+ calls?)$/)
      .first()
      .waitFor()
    await page.goto(`${server.url}/tool/hello`)
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('link', { name: 'All its calls in the audit log' }).click()
    await page.waitForURL(`${server.url}/activity?tool=hello`)
    const { length } = await newest('&tool=hello')
    await page.getByText(`${length} calls`, { exact: true }).waitFor()
    expect(await shownTools(page)).toEqual(Array(length).fill('hello'))
  })

  test('works with the keyboard alone', async () => {
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

  test('that cannot be had says why, and what to do', async () => {
    const { page, violations } = await open({ mayComplain: /400/ })
    await page.goto(`${server.url}/activity?outcome=maybe`)
    await page.getByRole('alert').getByText('Could not load the audit log').waitFor()
    expect(await violations()).toEqual([])
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('50 calls, and more').waitFor()
  })

  test.each([
    { theme: 'dark', width: 1_280 },
    { theme: 'light', width: 360 },
    { theme: 'dark', width: 360 },
  ] as const)('open, nothing sticks out, $theme at $width', async (options) => {
    const { page, violations, picture } = await open(options)
    await page.goto(`${server.url}/activity?outcome=failure&last=24h`)
    await page.getByRole('button', { name: 'broken' }).click()
    await page.getByText('Copy as JSON').waitFor()
    expect(await violations()).toEqual([])
    await fits(page)
    await picture('activity-open')
  })
})

/** As much of the body of a table as is read. */
interface Body {
  readonly rows: Iterable<{ readonly cells: Iterable<{ readonly textContent: string }> }>
}

/** The figures of a chart, from the table behind it: a row each, its name first. */
async function tableOf(page: Page, title: string): Promise<string[][]> {
  const chart = page.getByRole('figure', { name: title, exact: true })
  const body = chart.locator('tbody')
  if (!(await body.isVisible())) await chart.getByText('Show as table').click()
  await body.waitFor()
  return body.evaluate((element) => {
    const { rows } = element as unknown as Body
    return Array.from(rows, ({ cells }) => Array.from(cells, ({ textContent }) => textContent))
  })
}

/** Opens a page of charts, and gives what the endpoints told it: a moment later they may say something else. */
async function answersOf(page: Page, path: string): Promise<Readonly<Record<string, unknown>>> {
  const answers: Record<string, unknown> = {}
  page.on('response', async (response) => {
    const { pathname } = new URL(response.url())
    if (pathname.startsWith('/metrics/')) answers[pathname] = await response.json()
  })
  await page.goto(server.url + path)
  await page.getByRole('figure', { name: 'Iteration depth' }).waitFor()
  await expect.poll(() => Object.keys(answers).length).toBe(4)
  return answers
}

const fits = async (page: Page) => {
  const sticksOut = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  expect(await page.evaluate(sticksOut)).toBe(0)
}

describe('the charts', () => {
  test.each(['1h', '24h', '7d'])('of %s show what the endpoint says', async (window) => {
    const { page } = await open()
    const answered = await answersOf(page, `/activity/metrics?window=${window}`)
    const { buckets } = answered['/metrics/tools/series'] as CallSeriesMetrics
    const failed = (errors: object) => Object.values(errors).reduce((sum: number, calls: number) => sum + calls, 0)
    expect((await tableOf(page, 'Calls')).map(([, ...figures]) => figures.map(Number))).toEqual(
      buckets.map(({ total, errors }) => [total - failed(errors), failed(errors)]),
    )
    const quiet = buckets.map(({ total }) => total === 0)
    expect((await tableOf(page, 'Latency')).map(([, p50]) => p50 === '–')).toEqual(quiet)
    expect((await tableOf(page, 'Success rate')).map(([, rate]) => rate === '–')).toEqual(quiet)
    const whole = answered['/metrics/tools/execution'] as ExecutionMetrics
    const errors = (await tableOf(page, 'Errors by kind')).map(([kind, calls]) => [
      (kind as string).toUpperCase().replaceAll(' ', '_'),
      Number(calls),
    ])
    expect(Object.fromEntries(errors)).toEqual(whole.errors)
    const runs = answered['/metrics/models/series'] as RunSeriesMetrics
    expect((await tableOf(page, 'Iteration depth')).map(([, , deepest]) => deepest)).toEqual(
      runs.buckets.map(({ runs, max_iterations }) => (runs === 0 ? '–' : String(max_iterations))),
    )
    expect((await tableOf(page, 'Cost')).length).toBe(runs.buckets.length)
  })

  test('are of another time, and of one tool, at a click, and the address carries it', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity/metrics`)
    await page.getByRole('button', { name: '7d' }).click()
    await page.getByRole('combobox', { name: 'Tool' }).selectOption('slow')
    await expect.poll(() => addressOf(page)).toEqual({ window: '7d', tool: 'slow' })
    await page.reload()
    const whole = await answer<ExecutionMetrics>('/metrics/tools/execution?window=7d')
    const calls = page.getByRole('term').filter({ hasText: /^Calls$/ })
    await calls.waitFor()
    expect(await calls.locator('+ dd').textContent()).toBe(String(whole.tools.slow?.total))
    expect(await page.getByRole('button', { name: '7d' }).getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('button', { name: '1h' }).click()
    await page.getByText('There were no calls in this time').waitFor()
  })

  test('are gone through with the arrow keys', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity/metrics`)
    const chart = page.getByRole('application', { name: /^Calls\./ })
    await chart.focus()
    await page.keyboard.press('ArrowRight')
    await page
      .getByRole('figure', { name: 'Calls', exact: true })
      .getByText(/^Successful: \d/)
      .waitFor()
  })

  test('do not ask over and over', async () => {
    const { page, asked } = await open()
    await page.goto(`${server.url}/activity/metrics`, { waitUntil: 'networkidle' })
    await page.waitForTimeout(1_500)
    expect(asked.filter((url) => url.includes('/metrics/'))).toHaveLength(4)
  })

  test('that cannot be had say why', async () => {
    const { page } = await open({ mayComplain: /400/ })
    await page.goto(`${server.url}/activity/metrics?tenant=${'x'.repeat(65)}`)
    await page.getByRole('alert').getByText('Could not load how calls went').waitFor()
    await page.getByRole('alert').getByText('Could not load how runs went').waitFor()
  })

  test.each([
    { theme: 'light', width: 1_280 },
    { theme: 'dark', width: 1_280 },
    { theme: 'light', width: 360 },
    { theme: 'dark', width: 360 },
  ] as const)('with their tables are without fault for axe, $theme at $width', async (options) => {
    const { page, violations, picture } = await open(options)
    await page.goto(`${server.url}/activity/metrics`)
    await page.getByRole('figure', { name: 'Iteration depth' }).waitFor()
    await picture('metrics-full')
    await tableOf(page, 'Latency')
    expect(await violations()).toEqual([])
    await fits(page)
    await picture('metrics-table')
  })
})

test('where nothing was called yet, both say so, and what to do', async () => {
  const empty = await openTestServer({}, { local: true })
  onTestFinished(() => empty.close())
  const { page, violations, picture } = await open()
  await page.goto(`${empty.url}/activity`)
  await page.getByText('There are no calls yet').waitFor()
  expect(await violations()).toEqual([])
  await page.getByRole('link', { name: 'Metrics' }).click()
  await page.getByText('There were no calls in this time').waitFor()
  await page.getByText('No run ended in this time').waitFor()
  expect(await violations()).toEqual([])
  await picture('metrics-empty')
})

test('a key without the scope is told so, and one of the whole installation may look at others', async () => {
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
  const signIn = async (key: string) => {
    const { page } = await open()
    await page.goto(`${keyed.url}/activity`)
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    return page
  }
  const without = await signIn(bare)
  await without.getByText('Your key may not see calls').waitFor()
  const own = await signIn(acme)
  await own.getByText('1 call', { exact: true }).waitFor()
  expect(await own.getByRole('searchbox', { name: 'Tenant' }).count()).toBe(0)
  const page = await signIn(whole)
  await page.getByText('There are no calls yet').waitFor()
  await page.getByRole('searchbox', { name: 'Tenant' }).fill('*')
  await page.getByText('1 call', { exact: true }).waitFor()
  expect(await downloaded(page, 'JSON')).toMatchObject({ text: expect.stringContaining('"tenant":"acme"') })
})
