import { SCORES } from '@toolyard/mini'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CategoryScore } from '../../src/models/model-scores.ts'
import { readScores } from '../../src/models/model-scores.ts'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { FULL } from '../setup/full.ts'
import { openPage as open } from './open-browser.ts'
import { WITH_PLAIN_MODELS } from './shipped-config.ts'

const LEADERBOARD = 'Berkeley Function-Calling Leaderboard v4'

let server: TestServer

beforeAll(async () => {
  server = await openTestServer(WITH_PLAIN_MODELS, { local: true })
})
afterAll(() => server.close())

const recordOf = (page: Page, id: string) =>
  page.getByRole('list', { name: 'Models' }).locator('> li').filter({ hasText: id })

/** Puts other rows in the place of the scores that the server gives; without rows there are no scores. */
async function withRows(page: Page, rows: readonly CategoryScore[] | undefined): Promise<void> {
  await page.route('**/api/models/list', async (route) => {
    const { models } = (await (await route.fetch()).json()) as { models: { scores?: object }[] }
    const scores = rows && { rules: 'BFCL v4', categories: rows }
    await route.fulfill({ json: { models: models.map((model) => ({ ...model, scores: model.scores && scores })) } })
  })
}

describe('the scores of the model in the box', () => {
  test('are shown in its record only', async () => {
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/models`)
    const section = recordOf(page, 'mini:v1').getByRole('region', { name: LEADERBOARD })
    const table = section.getByRole('table', { name: LEADERBOARD })
    await table.getByRole('row', { name: /^simple_python [\d.]+ % 400$/ }).waitFor()
    expect(await page.getByRole('region', { name: LEADERBOARD }).count()).toBe(1)
    await section.getByText('measured with Toolyard’s own scorer on').waitFor()
    await section.getByText('the model is right if it makes no call').waitFor()
    await section.getByRole('link', { name: 'The page about mini' }).waitFor()
    await checkLooks('models-scores')
  })

  test.runIf(FULL)('match packages/mini/scores.json, with Toolyard’s own requests last', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/models`)
    const groups = page.getByRole('table', { name: LEADERBOARD }).locator('tbody')
    await groups.first().waitFor()
    const { categories = [] } = (await readScores(SCORES)) ?? {}
    for (const [at, own] of [false, true].entries()) {
      const rows = categories.filter((row) => row.own === own)
      expect(await groups.nth(at).getByRole('row').allTextContents()).toEqual([
        own ? 'Toolyard’s own requests, by the same rules' : 'Requests of the leaderboard',
        ...rows.map(({ name, call_wanted, cases, right }) => {
          const remark = call_wanted ? '' : ' (no call is right)'
          return `${name}${remark}${((right / cases) * 100).toFixed(1)} %${cases}`
        }),
      ])
    }
  })

  test.runIf(FULL)('do not count as tests for the badge', async () => {
    const { page } = await open()
    await page.goto(`${server.url}/models`)
    const mini = recordOf(page, 'mini:v1')
    await mini.getByText('These results do not count for the badge').waitFor()
    expect(await mini.getByText('no tests yet', { exact: true }).count()).toBe(1)
    expect(await mini.getByText('Test history').count()).toBe(0)
  })

  test.runIf(FULL)('show the days of measurement and are hidden if there are none', async () => {
    const row = { own: false, call_wanted: true, cases: 2_000, right: 1_980, wrong: { 'no call': 20 } }
    const { page } = await open()
    await withRows(page, [
      { ...row, name: 'multiple', measured: '2026-11-16' },
      { ...row, name: 'irrelevance', call_wanted: false, measured: '2026-10-02' },
    ])
    await page.goto(`${server.url}/models`)
    const mini = recordOf(page, 'mini:v1')
    await mini.getByText('between Oct 2, 2026 and Nov 16, 2026').waitFor()
    await mini.getByRole('row', { name: 'irrelevance (no call is right) 99.0 % 2,000' }).waitFor()
    expect(await mini.locator('tbody').count()).toBe(1)

    const { page: without } = await open()
    await withRows(without, undefined)
    await without.goto(`${server.url}/models`)
    await recordOf(without, 'mini:v1').waitFor()
    expect(await without.getByRole('region', { name: LEADERBOARD }).count()).toBe(0)
  })
})
