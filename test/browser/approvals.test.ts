import { expect, onTestFinished, test } from 'vitest'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { openPage } from './open-browser.ts'

const PAY = {
  name: 'pay',
  description: 'Pays an amount',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  implementation: { type: 'mock', mock_response: { paid: true } },
  effect: 'write',
  approval: true,
}

test('a call asked for on the page is approved in the inbox, with other parameters, and then runs', async () => {
  const server = await openTestServer({ tools: { enabled: true, registry: [PAY] } }, { local: true })
  onTestFinished(() => server.close())
  const { page, violations, picture } = await openPage()
  const run = async () => {
    await page.getByLabel('amount').fill('5')
    await page.getByRole('button', { name: /^Run/ }).first().click()
    const confirm = page.getByRole('button', { name: 'Run it' })
    if (await confirm.isVisible()) await confirm.click()
    await page.getByText('APPROVAL_REQUIRED').first().waitFor()
  }
  await page.goto(`${server.url}/tool/pay`)
  await run()
  await page.getByRole('link', { name: /^Approvals 1$/ }).click()
  await page.getByRole('link', { name: 'pay' }).click()
  await page.getByLabel('amount').fill('4')
  await picture('approval')
  expect(await violations()).toEqual([])
  await page.getByLabel(/^Reason/).fill('Four is enough')
  await page.getByRole('button', { name: 'Approve with changes' }).click()
  await page.getByText(/It was approved by local.*: Four is enough/).waitFor()
  const { pauses } = await server.installation.storage.pauses.list({ tenant: 'local', now: 0, limit: 9 })
  expect(pauses).toMatchObject([{ params: { amount: 5 }, decided_params: { amount: 4 }, decided_by: 'local' }])

  await page.goto(`${server.url}/tool/pay`)
  await run()
  await page.getByRole('button', { name: 'Run the approved call' }).click()
  await page.getByText('"paid"').or(page.getByText('paid:')).first().waitFor()
  expect((await server.installation.storage.pauses.get('local', pauses[0]?.id ?? ''))?.begun_at).not.toBeNull()

  await page.goto(`${server.url}/tool/pay`)
  await run()
  await page.getByRole('link', { name: 'Open the approval' }).click()
  await page.getByLabel(/^Reason/).fill('Not this month')
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByText(/It was rejected by local.*: Not this month/).waitFor()
})
