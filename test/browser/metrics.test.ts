import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CostReport } from '../../src/app/cost-report.ts'
import type { CallSeriesMetrics, ExecutionMetrics, RunSeriesMetrics } from '../../src/core/storage/ledger.ts'
import type { ObjectivesView } from '../../src/operations/objectives.ts'
import { costByDay } from '../../web/src/activity/costs/cost-by-day.ts'
import { FULL, someOf } from '../setup/full.ts'
import { addressOf, type BusyServer, openBusyServer } from './busy-server.ts'
import { openPage as open } from './open-browser.ts'

let server: BusyServer
const money = (cost: number | null): string =>
  cost === null
    ? 'unknown'
    : cost.toLocaleString('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 6 })

beforeAll(async () => {
  server = await openBusyServer()
})
afterAll(() => server.close())

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

describe('the charts', () => {
  test.each(someOf(['1h', '24h', '7d'], 3))('show the answers of the endpoints for %s', async (window) => {
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
    const errors = (await tableOf(page, 'Errors by code')).map(([kind, calls]) => [
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

  test('of costs show what GET /api/costs answers', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity/costs?period=week`)
    const rows = await tableOf(page, 'Cost by day')
    const whole = await server.answer<CostReport>('/api/costs?by=tenant&period=week')
    expect(rows.map(([, cost]) => cost)).toEqual(
      costByDay(whole.days, whole.from, whole.to).map(({ cost }) => money(cost)),
    )
    for (const [title, by] of [
      ['Tools', 'tool'],
      ['Models', 'model'],
      ['Keys', 'key'],
      ['Runs', 'run'],
    ] as const) {
      const top = await server.answer<CostReport>(`/api/costs?by=${by}&period=week&limit=10`)
      const table = page.getByRole('region', { name: `Most expensive: ${title}` })
      const shown = await table.locator('tbody tr').allInnerTexts()
      expect(shown).toEqual(
        top.rows.map((row) =>
          [
            row.label ?? row.name.replace(/^([\da-f]{8})-[\da-f-]{27}$/, 'run $1'),
            money(row.cost),
            row.calls,
            row.unknown_calls,
          ]
            .map(String)
            .join('\t'),
        ),
      )
    }
    await page.getByRole('button', { name: 'Today' }).click()
    await expect.poll(() => addressOf(page)).toEqual({ period: 'day' })
  })

  test.runIf(FULL)('of budgets show what is spent, and pass axe', async () => {
    const { page, checkLooks } = await open()
    const common = { tenant: 'local', per: 'day', currency: 'USD', resets_at: '2026-01-02T00:00:00.000Z' }
    const budgets = [
      { ...common, scope: 'tool', name: 'slow', amount: 2, spent: 0.5, action: 'refuse' },
      { ...common, scope: 'tenant', name: 'local', amount: 1, spent: 1.5, action: 'warn' },
    ]
    await page.route('**/api/budgets', (route) => route.fulfill({ json: { budgets } }))
    await page.goto(`${server.url}/activity/costs`)
    const items = page.getByRole('region', { name: 'Budgets' }).getByRole('listitem')
    await expect.poll(() => items.count()).toBe(2)
    expect(await items.nth(0).innerText()).toMatch(/tool slow\s+\$0.50 of \$2.00 a day\s+Resets/)
    expect(await items.nth(1).innerText()).toMatch(
      /tenant local\s+\$1.50 of \$1.00 a day\s+Spent: calls have a warning until/,
    )
    await checkLooks('budgets')
    await page.unroute('**/api/budgets')
  })

  test.runIf(FULL)('of costs leave a gap for a day whose costs are unknown', async () => {
    const { page } = await open()
    const day = (cost: number | null) => ({ cost, calls: 1, unknown_calls: cost === null ? 1 : 0 })
    const days = [0.5, null, 0.25].map((cost, index) => ({ day: `2026-01-0${index + 1}`, ...day(cost) }))
    const json = {
      by: 'tenant',
      currency: 'USD',
      from: '2026-01-01',
      to: '2026-01-04',
      total: day(0.75),
      rows: [],
      days,
    }
    await page.route('**/api/costs?*', (route) => route.fulfill({ json }))
    await page.goto(`${server.url}/activity/costs`)
    const chart = page.getByRole('figure', { name: 'Cost by day', exact: true })
    await expect.poll(() => chart.locator('.recharts-bar-rectangle path').count()).toBe(2)
    expect((await tableOf(page, 'Cost by day')).map(([, cost]) => cost)).toEqual(['$0.50', 'unknown', '$0.25'])
    await page.unroute('**/api/costs?*')
  })

  test.runIf(FULL)('switch the time range and the tool and keep both in the address', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity/metrics`)
    await page.getByRole('button', { name: '7d' }).click()
    await page.getByRole('combobox', { name: 'Tool' }).selectOption('slow')
    await expect.poll(() => addressOf(page)).toEqual({ window: '7d', tool: 'slow' })
    await page.reload()
    const whole = await server.answer<ExecutionMetrics>('/metrics/tools/execution?window=7d')
    const calls = page.getByRole('term').filter({ hasText: /^Calls$/ })
    await calls.waitFor()
    expect(await calls.locator('+ dd').textContent()).toBe(String(whole.tools.slow?.total))
    expect(await page.getByRole('button', { name: '7d' }).getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('button', { name: '1h' }).click()
    await page.getByText('No calls in this period').waitFor()
  })

  test.runIf(FULL)('can be read with the arrow keys', async () => {
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

  test.runIf(FULL)('request each endpoint once', async () => {
    const { page, asked } = await open({ fresh: true })
    await page.clock.install()
    const questions = () => asked.filter((url) => url.includes('/metrics/'))
    await page.goto(`${server.url}/activity/metrics`)
    await expect.poll(questions).toHaveLength(4)
    await page.getByRole('figure', { name: 'Iteration depth' }).waitFor()
    await page.clock.runFor(1_000)
    expect(questions()).toHaveLength(4)
  })

  test.runIf(FULL)('report an invalid tenant', async () => {
    const { page } = await open({ mayComplain: /400/ })
    await page.goto(`${server.url}/activity/metrics?tenant=${'x'.repeat(65)}`)
    await page.getByRole('alert').getByText('Could not load the call metrics').waitFor()
    await page.getByRole('alert').getByText('Could not load the run metrics').waitFor()
  })

  test.runIf(FULL)('passes axe and fits with a table', async () => {
    const { page, checkLooks, picture } = await open()
    await page.goto(`${server.url}/activity/metrics`)
    await page.getByRole('figure', { name: 'Iteration depth' }).waitFor()
    await picture('metrics-full')
    await tableOf(page, 'Latency')
    await checkLooks('metrics-table')
  })
})

describe('the objectives', () => {
  test.runIf(FULL)('show their error budget, alerts and days, and pass axe', async () => {
    const { page, checkLooks } = await open()
    await server.answer('/api/objectives')
    await server.installation.objectives.evaluate()
    await page.goto(`${server.url}/activity/objectives`)
    const hello = page.getByRole('listitem', { name: 'hello success 0.99 30d' })
    await hello.getByText('slow burn').waitFor()
    const { objectives } = await server.answer<ObjectivesView>('/api/objectives?tenant=*')
    const [report] = objectives
    expect(await hello.locator('dd').allTextContents()).toEqual(
      expect.arrayContaining([`${((report?.error_budget_left ?? 0) * 100).toFixed(1)} %`, String(report?.calls)]),
    )
    await page.getByRole('listitem', { name: '* p95_ms 100000 30d' }).getByText('met').waitFor()
    await page.getByRole('region', { name: 'Alerts' }).getByText('open', { exact: true }).waitFor()
    await hello.getByText('with calls').click()
    await checkLooks('objectives')
  })

  test('download the compliance report', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/activity/objectives`)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Report HTML' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^report-\d{4}-\d\d-\d\d\.html$/)
    const html = await text(await download.createReadStream())
    expect(html).toContain('The audit log is intact')
    expect(html).toContain('broken')
    await page.getByLabel('From').fill('2999-01-01')
    await page.getByText('From must be earlier than to.').waitFor()
  })
})
