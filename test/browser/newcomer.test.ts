import { expect, onTestFinished, test } from 'vitest'
import { chooseModel, unfoldCalls } from './choose-model.ts'
import { openNewcomerServer } from './newcomer-server.ts'
import { openPage as open } from './open-browser.ts'

test('takes a new user from a first call to a tested model and the audit log', async () => {
  const server = await openNewcomerServer()
  onTestFinished(() => server.close())
  const { page, picture } = await open()
  await page.goto(server.url)
  await page.getByRole('link', { name: /get_weather/ }).click()
  await page.getByRole('textbox', { name: 'location' }).fill('Paris')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('"sunny"').waitFor()

  await page.getByRole('link', { name: 'Testing' }).click()
  await chooseModel(page, server.model.name)
  const chosen = page.getByRole('combobox', { name: /Select Model/ })
  expect(await chosen.textContent()).toContain('supports tools but not validated')
  await page.getByRole('button', { name: /Simple Tool Call/ }).click()
  await page.getByRole('button', { name: 'Run Test' }).click()
  const results = page.getByRole('region', { name: 'Test Results' })
  await results.getByRole('heading', { name: 'Final Response' }).waitFor()
  await unfoldCalls(page)
  await results.getByRole('article', { name: 'Call of get_weather' }).waitFor()
  await results.getByRole('button', { name: 'Record as passed' }).click()
  await results.getByText('Recorded as passed: 1 of 1 passed so far.').waitFor()
  // Where the eye is after a run, and where the model is chosen.
  await expect.poll(() => results.textContent()).toContain('validated for tools, 1 of 1 test passed')
  await expect.poll(() => chosen.textContent()).toContain('validated for tools, 1 of 1 test passed')
  await picture('testing-recorded')

  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Activity' }).click()
  const calls = page.getByRole('row').filter({ hasText: 'get_weather' })
  await expect.poll(() => calls.count(), { timeout: 60_000 }).toBeGreaterThanOrEqual(2)
  await page.goto(`${server.url}/activity?tool=get_weather`)
  await calls.first().waitFor()
})
