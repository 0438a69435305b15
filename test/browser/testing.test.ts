import { describe, expect, test } from 'vitest'
import { openScriptedServer } from '../../src/server/fixtures/open-scripted-server.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { chooseModel } from './choose-model.ts'
import { openPage as open } from './open-browser.ts'
import { WITH_PLAIN_MODELS } from './shipped-config.ts'

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
      { tools: { left: async () => ({ found: 'moss' }), right: async () => Promise.reject(new Error('too dark')) } },
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
    await page.getByRole('button', { name: 'Running …' }).waitFor()
    expect(await violations()).toEqual([])
    await picture('testing-running')
    release()
    await page.getByText('Both sides are fine.').waitFor()
    await page.getByRole('heading', { name: 'Tool Calls (2)' }).waitFor()
  })

  test('can be cancelled, on the server too', async () => {
    const server = await openScriptedServer([{ calls: [{ name: 'wait' }] }, 'Never said.'], {
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
    await page.getByText('running …', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('You cancelled the run.').waitFor()
    await expect.poll(() => server.app.traffic.calls.size).toBe(0)
    await page.getByRole('button', { name: 'Run Test' }).waitFor()
  })

  test('warns about the iteration limit and reports a failed model', async () => {
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
    await page.getByText('The run reached the maximum number of tool calls').waitFor()
    await page.getByText('I reached the maximum number of tool calls.').waitFor()
    await page.getByText('I had to stop.').waitFor()
    await page.getByRole('button', { name: 'Run Test' }).click()
    await page.getByText('failed', { exact: true }).waitFor()
    await page
      .getByRole('alert')
      .getByText(/scripted/)
      .waitFor()
  })

  test('has an address that can be shared', async () => {
    const server = await openTestServer(WITH_PLAIN_MODELS, { local: true })
    try {
      const { page } = await open()
      await page.goto(`${server.url}/tools-testing`)
      await chooseModel(page, 'Mini')
      await page.getByRole('button', { name: /Calculator/ }).click()
      await page.getByRole('button', { name: 'Run Test' }).click()
      await page.getByRole('link', { name: 'Link to this run' }).click()
      await page.getByRole('heading', { name: 'Run', exact: true }).waitFor()
      await page.reload()
      await page.getByText('Calculate 15% tip on $45').waitFor()
      await page.getByText('15% tip on $45 is $6.75.').waitFor()
    } finally {
      await server.close()
    }
  })
})

test('compares models side by side', async () => {
  const server = await openTestServer(WITH_PLAIN_MODELS, { local: true })
  try {
    const { page, picture } = await open()
    await page.goto(`${server.url}/tools-testing`)
    await chooseModel(page, 'Mini')
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await chooseModel(page, 'Mini', /Compare with/)
    await page.getByLabel('Test Query').fill('Calculate 15% tip on $45')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await expect.poll(() => page.getByRole('heading', { name: 'Tool Calls (1)' }).count()).toBe(2)
    await picture('testing-compared')
  } finally {
    await server.close()
  }
})

const LOOK = [
  {
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    implementation: { type: 'internal', handler: 'look' },
  },
]
