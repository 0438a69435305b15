import type { Locator, Page } from 'playwright-core'
import { describe, expect, test, vi } from 'vitest'
import { openScriptedServer } from '../../src/server/fixtures/open-scripted-server.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { FULL } from '../setup/full.ts'
import { chooseModel, unfoldCalls } from './choose-model.ts'
import { openPage as open } from './open-browser.ts'
import { WITH_PLAIN_MODELS } from './shipped-config.ts'

/** Writes would wait for approval. */
const READ = { effect: 'read' } as const

const conversation = (page: Page) => page.getByRole('list', { name: 'Conversation' })

describe('a run', () => {
  test('is shown while it runs, with the calls of a turn side by side', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const server = await openScriptedServer(
      [
        { text: 'Let me look.', calls: [{ name: 'left', arguments: { side: 'l' } }, { name: 'right' }] },
        async () => {
          ask()
          await released
          return 'Both sides are fine.'
        },
      ],
      {
        tools: { left: async () => ({ found: 'moss' }), right: async () => Promise.reject(new Error('too dark')) },
        definition: READ,
      },
    )
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await chooseModel(page, 'Scripted')
    await page.getByLabel('Test Query').fill('What is on both sides?')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await asked
    const calls = page.getByRole('list', { name: 'Calls of turn 1' })
    await calls.getByText('moss').waitFor()
    await page.getByText('Let me look.').waitFor()
    expect(await calls.getByRole('article').count()).toBe(2)
    const [left, right] = await Promise.all([0, 1].map((index) => calls.getByRole('article').nth(index).boundingBox()))
    expect(left?.y).toBe(right?.y)
    expect(await calls.getByText('EXECUTION_ERROR').count()).toBe(1)
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    expect(await violations()).toEqual([])
    await picture('testing-running')
    release()
    await conversation(page).getByText('Both sides are fine.').waitFor()
    await page.getByRole('log').getByText('Scripted: Both sides are fine.', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Tool Calls (2)' }).waitFor()
  })

  test('starts with Enter before the models are loaded', async () => {
    const server = await openScriptedServer(['Early enough.'])
    const { page } = await open()
    const { promise: loaded, resolve: load } = Promise.withResolvers<void>()
    await page.route('**/api/models/list', async (route) => {
      await loaded
      await route.continue()
    })
    await page.goto(`${server.url}/tools-testing?model=scripted:turns`)
    await page.getByLabel('Test Query').and(page.locator(':focus')).waitFor()
    await page.keyboard.type('Are you there?')
    await page.keyboard.press('Enter')
    await page.getByText('The question is sent as soon as the models are loaded.').waitFor()
    load()
    await conversation(page).getByText('Early enough.').waitFor()
    expect(await page.getByLabel('Test Query').inputValue()).toBe('')
  })

  test.runIf(FULL)('can be cancelled, on the server too', async () => {
    const server = await openScriptedServer([{ calls: [{ name: 'wait' }] }, 'Never said.'], {
      definition: READ,
      tools: {
        wait: (_params, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      },
    })
    const { page } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await chooseModel(page, 'Scripted')
    await page.getByLabel('Test Query').fill('Wait')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await page.getByRole('article', { name: 'Call of wait' }).getByText('running …').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await conversation(page).getByText('You cancelled the run.').waitFor()
    await expect.poll(() => server.app.traffic.calls.size).toBe(0)
    await page.getByRole('button', { name: 'Run Test' }).waitFor()
  })

  test.runIf(FULL)('warns about the iteration limit and reports a failed model', async () => {
    const again = { calls: [{ name: 'look' }] }
    const server = await openScriptedServer(
      [
        ...Array.from({ length: 2 }, (_, page) => ({ calls: [{ name: 'look', arguments: { page } }] })),
        'I had to stop.',
        again,
        new Error('The provider hung up'),
      ],
      { tools: { look: async () => 'more' }, config: { tools: { enabled: true, max_iterations: 2, registry: LOOK } } },
    )
    const { page } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await chooseModel(page, 'Scripted')
    await page.getByLabel('Test Query').fill('Look everywhere')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await conversation(page).getByText('The run reached the maximum number of tool calls').waitFor()
    await conversation(page).getByText('I reached the maximum number of tool calls.').waitFor()
    await conversation(page).getByText('I had to stop.').waitFor()
    await page.getByRole('button', { name: 'Ask again' }).click()
    await page.getByText('failed', { exact: true }).waitFor()
    await page
      .getByRole('log')
      .getByText(/^Scripted: Failed\. .*scripted/)
      .waitFor()
  })

  test.runIf(FULL)('has an address that can be shared', async () => {
    const server = await openTestServer(WITH_PLAIN_MODELS, { local: true })
    try {
      const { page } = await open()
      await page.goto(`${server.url}/tools-testing`)
      await chooseModel(page, 'Mini')
      await page.getByRole('button', { name: /Calculator/ }).click()
      await page.getByRole('button', { name: 'Run Test' }).click()
      await page.getByRole('link', { name: 'Link to this run' }).click()
      await page.reload()
      await page.getByRole('heading', { name: 'Calculate 15% tip on $45' }).waitFor()
      await page.getByText('15% tip on $45 is $6.75.').waitFor()
    } finally {
      await server.close()
    }
  })
})

describe('a thread', () => {
  const query = (page: Page) => page.getByLabel('Test Query')

  test('takes follow-ups, survives a reload, and can be edited, branched, deleted and restored', async () => {
    const server = await openScriptedServer(
      [
        'Which location?',
        { calls: [{ name: 'weather', arguments: { at: 'Berlin' } }] },
        'It is **Sunny.**',
        'Rainy.',
        'Snow.',
      ],
      { tools: { weather: async () => ({ sky: 'clear' }) }, definition: READ },
    )
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await query(page).fill('How is the weather?')
    await page.keyboard.press('Enter')
    await conversation(page).getByText('Which location?').waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/tools-testing\/[\da-f-]{36}$/)
    await query(page).fill('in Berlin')
    await page.keyboard.press('Control+Enter')
    await conversation(page).getByText('Sunny.').waitFor()
    expect(server.model.requests[1]?.messages.slice(1).map(({ content }) => content)).toEqual([
      'How is the weather?',
      'Which location?',
      'in Berlin',
    ])
    // Markdown is shown as such, and only the last answer has the form that records it.
    await page.locator('strong', { hasText: 'Sunny.' }).waitFor()
    expect(await page.getByRole('button', { name: 'Record as passed' }).count()).toBe(1)
    // The answer comes first; the calls are folded below it.
    expect(await page.getByText('clear').count()).toBe(0)
    await page.reload()
    await conversation(page).getByText('Sunny.').waitFor()
    await unfoldCalls(page)
    await page.getByRole('article', { name: 'Call of weather' }).getByText('"clear"').waitFor()
    await page.getByRole('table', { name: /Timeline/ }).waitFor()
    await checkLooks('thread')

    await page.getByRole('button', { name: 'Branch' }).first().click()
    await page.getByText('This is a branch.').waitFor()
    await page.getByLabel('Test Query').and(page.locator(':focus')).waitFor()
    expect(await conversation(page).getByRole('article').count()).toBe(1)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Edit the question').press('Escape')
    await page.getByRole('button', { name: 'Edit' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await page.getByLabel('Edit the question').fill('And tomorrow?')
    await page.keyboard.press('Enter')
    await conversation(page).getByText('Rainy.').waitFor()
    await page.getByLabel('Test Query').and(page.locator(':focus')).waitFor()
    expect(await conversation(page).getByText('Which location?').count()).toBe(0)
    await page.getByRole('button', { name: 'Undo' }).click()
    await conversation(page).getByText('Which location?').waitFor()

    const threads = page.getByRole('navigation', { name: 'Threads' })
    expect(await threads.getByRole('link').count()).toBe(2)
    await threads
      .getByRole('button', { name: /^Delete the thread/ })
      .first()
      .click()
    await expect.poll(() => threads.getByRole('link').count()).toBe(1)
    expect(new URL(page.url()).pathname).toBe('/tools-testing')
    await page.getByLabel('Test Query').and(page.locator(':focus')).press('Control+z')
    expect(await threads.getByRole('link').count()).toBe(1)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Control+z')
    await expect.poll(() => threads.getByRole('link').count()).toBe(2)
    await threads.getByRole('link').last().click()
    await conversation(page).getByText('Sunny.').waitFor()

    await threads
      .getByRole('button', { name: /^Rename the thread/ })
      .last()
      .click()
    await page.getByLabel('Name of the thread').fill('Berlin')
    await page.keyboard.press('Enter')
    await threads.getByText('Berlin').waitFor()
    await threads.getByRole('button', { name: 'Rename the thread Berlin' }).and(page.locator(':focus')).waitFor()
    await expect
      .poll(async () => (await (await fetch(`${server.url}/api/threads`)).text()).includes('Berlin'))
      .toBe(true)
    const other = await open({ fresh: true, mayComplain: /404/ })
    await other.page.goto(page.url())
    await other.page.getByText('Sunny.').waitFor()
    expect(await other.page.title()).toContain('Berlin')
    await other.page.getByText('You can open them in another browser.').waitFor()
    await other.page.goto(`${server.url}/tools-testing/unknown`)
    await other.page.getByText('Thread not found').waitFor()
  })

  test.runIf(FULL)('stays in the browser if the server stores no contents', async () => {
    const server = await openScriptedServer(['Fine.'], { config: { storage: { payloads: 'off' } } })
    const { page } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await page.getByText('Threads stay in this browser').waitFor()
    await query(page).fill('How are you?')
    await page.keyboard.press('Enter')
    await conversation(page).getByText('Fine.').waitFor()
    await page.reload()
    await conversation(page).getByText('Fine.').waitFor()
    expect(await (await fetch(`${server.url}/api/threads`)).json()).toEqual({ stored: false, threads: [] })
  })

  test.runIf(FULL)('has answers that people rate, and runs are found by it', async () => {
    const server = await openScriptedServer(['Berlin.', 'Paris.'])
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await query(page).fill('Where?')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Bad answer' }).click()
    await page.getByLabel('Comment on the answer').fill('It is Rome.')
    await page.keyboard.press('Enter')
    await page.getByText('“It is Rome.”').waitFor()
    await page.getByRole('link', { name: 'Link to this run' }).click()
    await page.getByText('“It is Rome.”').waitFor()
    expect(await page.getByRole('button', { name: 'Bad answer' }).getAttribute('aria-pressed')).toBe('true')
    await checkLooks('run-rated')
    await page.goto(`${server.url}/activity/runs`)
    await page.getByRole('link', { name: /Where\?.*1 bad/ }).waitFor()
    await page.getByLabel('Rating').selectOption('good')
    await page.getByText('No matching runs').waitFor()
    await page.getByLabel('Rating').selectOption('bad')
    await page.getByRole('link', { name: /Where\?/ }).click()
    await page.getByRole('button', { name: 'Bad answer' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('“It is Rome.”').waitFor()
  })

  test.runIf(FULL)('asks before a write, and goes on when it is approved', async () => {
    const pay = vi.fn(async () => 'paid')
    const call = { calls: [{ name: 'pay', arguments: { amount: 5 } }] }
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const paid = async () => {
      await released
      return 'I paid 5.'
    }
    const server = await openScriptedServer([call, paid, call, 'I did not pay.'], { tools: { pay } })
    const { page, violations, picture } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await query(page).fill('Pay 5')
    await page.keyboard.press('Enter')
    const waiting = page.getByRole('list', { name: 'Calls that wait for approval' })
    await page.getByRole('log').getByText('Scripted: Approval required for pay.').waitFor()
    await waiting.getByText('"amount": 5').waitFor()
    expect(pay).not.toHaveBeenCalled()
    await page.reload()
    await waiting.getByRole('button', { name: 'Approve pay' }).waitFor()
    expect(await violations()).toEqual([])
    await picture('thread-waiting')
    await waiting.getByRole('button', { name: 'Approve pay' }).click()
    await page.getByRole('log').getByText('Approved pay.').waitFor()
    // The run goes on: what belongs to the decision is gone before the answer comes.
    await expect.poll(() => page.getByText('approval required', { exact: true }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Change parameters' }).count()).toBe(0)
    await conversation(page).getByText('The model is responding …').waitFor()
    release()
    await conversation(page).getByText('I paid 5.').waitFor()
    await page.getByRole('log').getByText('Scripted: I paid 5.').waitFor()
    expect(pay).toHaveBeenCalledTimes(1)
    await query(page).fill('Pay 5 again')
    await page.keyboard.press('Enter')
    await waiting.getByRole('button', { name: 'Reject pay' }).click()
    await page.getByRole('log').getByText('Rejected pay.').waitFor()
    await conversation(page).getByText('I did not pay.').waitFor()
    expect(pay).toHaveBeenCalledTimes(1)
  })

  test.runIf(FULL)('offers the chosen tools and mocks their results', async () => {
    const look = vi.fn(async () => 'real')
    const server = await openScriptedServer([{ calls: [{ name: 'left' }] }, 'I saw it.'], {
      tools: { left: look, right: look },
    })
    const { page } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await page.getByRole('button', { name: /^left/ }).click()
    expect(await query(page).inputValue()).toBe('Use left.')
    await page.getByRole('checkbox', { name: 'Offer left' }).check()
    await page.getByRole('status').getByText('The model is offered 1 of them.').waitFor()
    await page.getByRole('radio', { name: 'Mock results' }).check()
    const result = page.getByLabel('Mock result of left, as JSON')
    await result.fill('{"seen":')
    await result.press('Tab')
    await page.getByText(/^Not JSON: /).waitFor()
    expect(await result.getAttribute('aria-invalid')).toBe('true')
    await page.getByRole('log').getByText('The mock result of left is not JSON.').waitFor()
    await page.getByRole('button', { name: 'Run Test' }).click()
    await page.getByRole('alert').getByText('The mock result of left is not JSON').waitFor()
    await result.fill('{"seen": "a mock"}')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await conversation(page).getByText('I saw it.').waitFor()
    await unfoldCalls(page)
    await page.getByText('"a mock"').waitFor()
    expect([look.mock.calls, server.model.requests[0]?.tools?.map(({ name }) => name)]).toEqual([[], ['left']])
  })
})

test.runIf(FULL)('compares models side by side', async () => {
  const name = 'Mini, which comes with Toolyard'
  const mini = { id: 'mini:v1', name, capabilities: ['function-calling'] }
  const models = [mini, ...(WITH_PLAIN_MODELS.models ?? []).slice(1)]
  const server = await openTestServer({ ...WITH_PLAIN_MODELS, models }, { local: true })
  try {
    const { page, picture } = await open({ fresh: true })
    await page.goto(`${server.url}/tools-testing`)
    await chooseModel(page, name)
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await chooseModel(page, name, /Compare with/)
    await page.getByLabel('Test Query').fill('Calculate 15% tip on $45')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await expect.poll(() => page.getByRole('heading', { name: 'Tool Calls (1)' }).count()).toBe(2)
    await picture('testing-compared')
    // Beside each other, the fields are equally high, and an option has room for its text.
    const heights = async (all: Locator) => (await all.all()).map(async (one) => (await one.boundingBox())?.height)
    const fields = page.getByRole('region', { name: 'Test Tool Calling' }).getByRole('combobox')
    const [first, second] = await Promise.all(await heights(fields))
    expect(second).toBe(first)
    await fields.last().click()
    const options = await Promise.all(await heights(page.getByRole('option')))
    expect(Math.max(...options.map((height) => height ?? 0))).toBeLessThan(80)
    await picture('testing-compared-options')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Remove model 2' }).click()
    await page.getByRole('button', { name: 'Compare with another model' }).and(page.locator(':focus')).waitFor()
    // The page stores the thread a moment later.
    await page.close()
  } finally {
    await server.close()
  }
})

const LOOK = [
  {
    name: 'look',
    effect: 'read',
    description: 'Looks.',
    parameters: { type: 'object' },
    implementation: { type: 'internal', handler: 'look' },
  },
]
