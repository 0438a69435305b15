import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/models/model.ts'
import { openScriptedServer, type ScriptedServerOptions } from '../../src/server/fixtures/open-scripted-server.ts'
import type { GivenTurn } from '../../src/testing/stand-ins.ts'
import { loadSuite } from '../../src/validation/load-suite.ts'
import type { ValidationReport } from '../../src/validation/reports/build-report.ts'
import { FULL } from '../setup/full.ts'
import { chooseModel, unfoldCalls } from './choose-model.ts'
import { openPage as open } from './open-browser.ts'

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
const PRICES = { input: 2, output: 10 }
const PARAMETERS = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const CITIES = ['Paris', 'Rome', 'Oslo', 'Lima']
const SUITE = {
  name: 'cities',
  cases: CITIES.map((at) => ({
    id: `looks at ${at}`,
    query: `What is in ${at}?`,
    expect: { calls: [{ tool: 'look', params: { at } }] },
  })),
}

const cityOf = ({ messages }: ModelRequest): string =>
  /in (\w+)\?/.exec(String(messages.findLast(({ role }) => role === 'user')?.content))?.[1] ?? ''
const lookAt = (at: string) => ({ calls: [{ name: 'look', arguments: { at } }], usage: USAGE })
const good: GivenTurn = (request) => lookAt(cityOf(request))

/** A server with a suite of four cases, and a scripted model. */
async function serve(turn: GivenTurn, options: ScriptedServerOptions = {}) {
  const server = await openScriptedServer(
    Array.from({ length: 100 }, () => turn),
    { tools: { look: async () => 'a view' }, definition: { parameters: PARAMETERS }, prices: PRICES, ...options },
  )
  await mkdir(join(server.folder, 'suites'))
  await writeFile(join(server.folder, 'suites', 'cities.json'), JSON.stringify(SUITE))
  return server
}

/** Selects the suite and the model, confirms the cost of the run and waits for its page. */
async function startSuite(page: Page, url: string): Promise<void> {
  await chooseSuite(page, url)
  await page.getByRole('heading', { name: 'cities.json' }).waitFor()
}

async function chooseSuite(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/models`)
  const suites = page.getByRole('group', { name: 'Suites' })
  await suites.getByRole('checkbox', { name: /generated/ }).uncheck()
  await suites.getByRole('checkbox', { name: /cities/ }).check()
  await page
    .getByRole('group', { name: 'Models' })
    .getByRole('checkbox', { name: /Scripted/ })
    .check()
  await page.getByText('4 trials').first().waitFor()
  await page.getByRole('button', { name: 'Run suites' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Run suites' }).click()
}

describe('a run of suites', () => {
  test('shows its cost beforehand, its progress, also after a reload, and updates the badge', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const server = await serve(async (request) => {
      if (cityOf(request) === 'Lima') await released
      return lookAt(cityOf(request))
    })
    const { page, violations, picture } = await open({ mayComplain: /409/ })
    await page.goto(`${server.url}/models`)
    // The only model is selected at first.
    await page
      .getByRole('group', { name: 'Models' })
      .getByRole('checkbox', { name: /Scripted/, checked: true })
      .uncheck()
    await page.getByText('Choose at least one model and one suite.').waitFor()
    expect(await page.getByText('supports tools but not validated').count()).toBeGreaterThan(0)
    await startSuite(page, server.url)
    const bar = page.getByRole('progressbar', { name: 'Completed trials' })
    await expect.poll(() => bar.getAttribute('aria-valuenow')).toBe('3')
    expect(await bar.getAttribute('aria-valuemax')).toBe('4')
    await page.reload()
    await page.getByText('3 of 4 trials').waitFor()
    expect(await violations()).toEqual([])
    await picture('suite-running')
    const address = page.url()
    // A second run is refused, with a link to the first one.
    await chooseSuite(page, server.url)
    await page.getByRole('link', { name: 'Open the run in progress' }).click()
    await page.waitForURL(address)
    release()
    await page.getByRole('status').getByText('4 of 4 passed', { exact: true }).waitFor()
    await page.getByRole('button', { name: '4 passed' }).waitFor()
    await page.getByText('4,400 tokens, $0.012').waitFor()
    await page.getByText('validated for tools').first().waitFor()
    await page.getByRole('link', { name: 'Models', exact: true }).first().click()
    await page.getByText('4 of 4 tests passed').first().waitFor()
    await page.getByRole('cell', { name: /^Right 100 % of 4 cases, at least 51 % Well-formed no calls$/ }).waitFor()
    await page.getByRole('link', { name: /cities\.json/ }).waitFor()
  })

  test.runIf(FULL)('shows the expected and actual values of a failed case', async () => {
    const server = await serve((request) => lookAt(cityOf(request) === 'Rome' ? 'Paris' : cityOf(request)))
    const { page, checkLooks } = await open()
    await startSuite(page, server.url)
    await page.getByText('3 of 4 passed').waitFor()
    const cases = page.getByRole('list', { name: 'Cases' })
    await cases.getByText('look: at is "Paris", expected "Rome".').click()
    await cases.getByRole('region', { name: 'Expected' }).getByText('"Rome"').waitFor()
    await cases.getByRole('region', { name: 'Actual' }).getByText('"Paris"').waitFor()
    await checkLooks('suite-failed')
    await page.goto(`${server.url}/models`)
    await page.getByRole('link', { name: /cities\.json/ }).waitFor()
    await page.getByText('wrong value 1').click()
    await page.getByRole('cell').getByText('look: at is "Paris", expected "Rome".').waitFor()
    await checkLooks('models-suites')
  })

  test.runIf(FULL)('is compared with an earlier run, case by case', async () => {
    let wrong = 'Rome'
    const server = await serve((request) => lookAt(cityOf(request) === wrong ? 'Nowhere' : cityOf(request)))
    const { page, checkLooks } = await open()
    const ask = async () => {
      const body = JSON.stringify({ models: [server.model.id], suites: ['cities.json'], fresh: true })
      const headers = { 'content-type': 'application/json' }
      const made = await fetch(`${server.url}/api/validations/runs`, { method: 'POST', headers, body })
      const { id } = (await made.json()) as { id: string }
      await (
        await fetch(`${server.url}/api/validations/runs/${id}`, { headers: { accept: 'text/event-stream' } })
      ).text()
      return id
    }
    const baseline = await ask()
    wrong = 'Oslo'
    const contender = await ask()
    await page.goto(`${server.url}/models/runs/${contender}`)
    await page.getByLabel('The run to compare with').selectOption(baseline)
    await page.getByText('No certain difference: +0.0 percentage points').waitFor()
    expect(new URL(page.url()).search).toBe(`?baseline=${baseline}`)
    const compared = page.getByRole('region', { name: 'Compared cases' })
    await compared.getByText('What is in Rome?').waitFor()
    expect(await compared.getByRole('row').count()).toBe(3)
    await page.getByRole('button', { name: 'Worse (1)' }).click()
    await compared.getByText('What is in Oslo?').waitFor()
    expect(await compared.getByText('What is in Rome?').count()).toBe(0)
    await checkLooks('suite-compared')
    await page.reload()
    await page.getByRole('button', { name: 'All (4)' }).click()
    expect(await compared.getByRole('row').count()).toBe(5)
  })

  test.runIf(FULL)('shows several models side by side, and the cases where they differ', async () => {
    const server = await serve((request) => lookAt(cityOf(request) === 'Rome' ? 'Paris' : cityOf(request)))
    const { page, checkLooks } = await open()
    await startSuite(page, server.url)
    await page.getByText('3 of 4 passed').waitFor()
    // The server has one model; the page is to see two.
    await page.route('**/api/validations/runs/*', async (route) => {
      const response = await route.fetch()
      const run = (await response.json()) as { report: ValidationReport }
      const { trials } = run.report
      const others = trials.map(({ message: _message, ...trial }) => ({
        ...trial,
        model: 'other:m',
        outcome: 'passed',
      }))
      await route.fulfill({ json: { ...run, report: { ...run.report, trials: [...trials, ...others] } } })
    })
    await page.reload()
    const matrix = page.getByRole('region', { name: 'Matrix' })
    await expect.poll(() => matrix.getByRole('row').count()).toBe(5)
    await checkLooks('suite-matrix')
    await page.getByRole('button', { name: 'Different (1)' }).click()
    await matrix.getByRole('row', { name: /What is in Rome.*failed look.*passed/ }).waitFor()
    expect(await matrix.getByRole('row').count()).toBe(2)
  })

  test.runIf(FULL)('can be cancelled and resumed', async () => {
    let holding = true
    const server = await serve(async (request) => {
      const { signal } = request
      if (holding && cityOf(request) !== 'Paris') {
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      }
      return lookAt(cityOf(request))
    })
    const { page } = await open()
    await startSuite(page, server.url)
    await page.getByText('1 of 4 trials').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()
    await page.getByRole('status').getByText('1 of 1 passed, 3 not run').waitFor()
    await page.getByRole('button', { name: '3 not run' }).waitFor()
    holding = false
    await page.goto(`${server.url}/models`)
    await page
      .getByRole('group', { name: 'Suites' })
      .getByRole('checkbox', { name: /cities/ })
      .check()
    await page
      .getByRole('group', { name: 'Suites' })
      .getByRole('checkbox', { name: /generated/ })
      .uncheck()
    await page
      .getByRole('group', { name: 'Models' })
      .getByRole('checkbox', { name: /Scripted/ })
      .check()
    await page.getByText('reusing 1 of 4 trials').waitFor()
    await page.getByRole('button', { name: 'Run suites' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Run suites' }).click()
    await page.getByText('3 of 3 passed').waitFor()
    await page.getByRole('button', { name: '4 passed' }).waitFor()
  })
})

describe('a stored run', () => {
  const TURNS: GivenTurn[] = [
    { text: 'Let me look.', ...lookAt('Rome') },
    { text: 'It is old.', usage: USAGE },
  ]

  async function testOnce(page: Page, url: string): Promise<void> {
    await page.goto(`${url}/tools-testing`)
    await chooseModel(page, 'Scripted')
    await page.getByLabel('Test Query').fill('What is in Rome?')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await page.getByRole('link', { name: 'Link to this run' }).waitFor()
  }

  async function openRun(turns: readonly GivenTurn[]) {
    const server = await openScriptedServer(turns, {
      tools: { look: async () => 'a view' },
      definition: { parameters: PARAMETERS, effect: 'read' },
      prices: PRICES,
    })
    const opened = await open()
    await testOnce(opened.page, server.url)
    await opened.page.getByRole('link', { name: 'Link to this run' }).click()
    await opened.page.getByRole('region', { name: 'Timeline' }).waitFor()
    return { ...opened, server }
  }

  test('shows the time and cost of each step, and can be saved as a case', async () => {
    const { page, server, checkLooks } = await openRun(TURNS)
    const timeline = page.getByRole('table', { name: /Timeline/ })
    await timeline.waitFor()
    expect(await timeline.getByRole('row').count()).toBe(5)
    expect(await timeline.getByRole('row', { name: /^Turn 1/ }).textContent()).toMatch(/1,100\$0\.003/)
    expect(await timeline.getByRole('row', { name: /^Total/ }).textContent()).toMatch(/2,200\$0\.006/)
    await page.getByRole('button', { name: 'Save as validation case' }).click()
    await page.getByRole('region', { name: 'Save as validation case' }).waitFor()
    await checkLooks('run-saved')
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: /Download run-/ }).click()
    const saved = await download
    expect(saved.suggestedFilename()).toMatch(/^run-[\da-f]{8}\.jsonl$/)
    const file = join(server.folder, saved.suggestedFilename())
    await saved.saveAs(file)
    const definitions = server.installation.manager.getRegistry().definitions()
    const { cases } = await loadSuite(file, { definitions })
    expect(cases).toMatchObject([{ about: ['look'], mocks: { look: 'a view' } }])
    const call = { tool: 'look', params: { at: 'Rome' } }
    expect(cases[0]?.judge([{ calls: [call], answer: '' }])).toEqual({ passed: true })
  })

  test.runIf(FULL)('can be replayed and repeated, and shows the first difference', async () => {
    const { page } = await openRun([...TURNS, lookAt('Paris'), ...TURNS, lookAt('Paris'), 'It is new.'])
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByRole('button', { name: 'Start replay' }).click()
    await page.getByText('The replay matches the run').waitFor()
    await page.getByRole('combobox', { name: 'Model' }).selectOption({ label: 'ask Scripted' })
    await page.getByRole('button', { name: 'Start replay' }).click()
    await page.getByText(/The replay differs\. .*look is called with {"at":"Paris"}/).waitFor()
    await page.getByRole('link', { name: 'Run again' }).click()
    expect(await page.getByLabel('Test Query').inputValue()).toBe('What is in Rome?')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await page.getByText('The same calls as in the').waitFor()
    await unfoldCalls(page)
    const timeline = page.getByRole('table', { name: /Timeline/ })
    expect(await timeline.getByRole('row', { name: /^Turn 2/ }).textContent()).toMatch(/1,100\$0\.003/)
    expect(await timeline.getByRole('row', { name: /^Total/ }).textContent()).toMatch(/2,200\$0\.006/)
    await page.getByRole('button', { name: 'Ask again' }).click()
    await page.getByText('Call 1 was look with {"at":"Rome"} and is now look with {"at":"Paris"}.').waitFor()
  })
})

test.runIf(FULL)('a suite with an invalid file shows the problem and cannot be selected', async () => {
  const server = await serve(good)
  await writeFile(join(server.folder, 'suites', 'bad.json'), '{"cases": [{"query": "Hi", "expect": {}}]}')
  const { page, violations } = await open()
  await page.goto(`${server.url}/models`)
  const bad = page.getByRole('checkbox', { name: /bad\.json/ })
  await bad.waitFor()
  expect(await bad.isDisabled()).toBe(true)
  await page.getByText(/bad\.json:1/).waitFor()
  expect(await violations()).toEqual([])
})
