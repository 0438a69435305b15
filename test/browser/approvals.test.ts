import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveAsking } from '../../src/mcp/fixtures/asking-server.ts'
import { frame } from '../../src/models/fixtures/wire-frames.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { startServer } from '../servers/start-server.ts'
import { FULL } from '../setup/full.ts'
import { chooseModel } from './choose-model.ts'
import { openPage } from './open-browser.ts'

const PAY = {
  name: 'pay',
  description: 'Pays an amount',
  parameters: {
    type: 'object',
    properties: { amount: { type: 'number' }, to: { type: 'string' } },
    required: ['amount'],
  },
  implementation: { type: 'mock', mock_response: { paid: true } },
  effect: 'write',
  approval: true,
}

test('questions of an MCP server are answered and declined in the inbox', async () => {
  const asking = await serveAsking()
  const forward = { elicitation: 'ask', sampling: 'ask' } as const
  const config = { tools: { enabled: true }, mcpServers: { asking: { url: asking.url, forward } } }
  const server = await openTestServer(config, { local: true })
  onTestFinished(async () => {
    await server.close()
    await asking.close()
  })
  const { manager } = server.installation
  await manager.getMcpServers().start()
  await expect.poll(() => manager.getMcpStatus()[0]?.state, { timeout: 60_000 }).toBe('connected')
  const call = async (tool_name: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ tool_name, params: {} })
    return (await fetch(`${server.url}/tools/execute`, { method: 'POST', headers, body })).json()
  }
  const { page, checkLooks } = await openPage()
  const [named, sampled] = [call('ask'), call('sample')]
  await page.goto(`${server.url}/approvals`)
  await page.getByText("MCP server 'asking' asks: Your name?").waitFor()
  if (FULL) await checkLooks('questions')
  await page.getByRole('link', { name: 'Answer the question of ask' }).click()
  await page.getByLabel('name').first().fill('Ada')
  await checkLooks('elicitation')
  await page.getByRole('button', { name: 'Send the answer' }).click()
  await page.getByText('It was answered by local').waitFor()
  expect(await named).toMatchObject({ result: 'accept Ada' })
  await page.getByRole('link', { name: 'Approvals', exact: true }).first().click()
  await page.getByRole('link', { name: 'Answer the question of sample' }).click()
  await page.getByRole('list', { name: 'Messages' }).getByText('Say ok').waitFor()
  if (FULL) await checkLooks('sampling')
  await page.getByRole('button', { name: 'Decline' }).click()
  await page.getByText('It was declined by local').waitFor()
  expect(await sampled).toMatchObject({ success: false })
})

test('a call asked for on the page is approved in the inbox, with other parameters, and then runs', async () => {
  const server = await openTestServer({ tools: { enabled: true, registry: [PAY] } }, { local: true })
  onTestFinished(() => server.close())
  const { page, checkLooks } = await openPage()
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
  await checkLooks('approval')
  await page.getByLabel(/^Reason/).fill('Four is enough')
  await page.getByRole('button', { name: 'Approve with changes' }).click()
  await page.getByText(/It was approved by local on .*: Four is enough/).waitFor()
  const region = (name: string) => page.locator('section').filter({ has: page.getByRole('heading', { name }) })
  await region('Requested parameters').getByText('5').waitFor()
  await region('Approved parameters').getByText('4').waitFor()
  const { pauses } = await server.installation.storage.pauses.list({ tenant: 'local', now: 0, limit: 9 })
  expect(pauses).toMatchObject([{ params: { amount: 5 }, decided_params: { amount: 4 }, decided_by: 'local' }])

  await page.goto(`${server.url}/tool/pay`)
  await run()
  await page.getByRole('button', { name: 'Run the approved call' }).click()
  await page.getByText('"paid"').or(page.getByText('paid:')).first().waitFor()
  await page.getByText(/A person changed the parameters of tool 'pay'/).waitFor()
  expect((await server.installation.storage.pauses.get('local', pauses[0]?.id ?? ''))?.begun_at).not.toBeNull()

  await page.goto(`${server.url}/tool/pay`)
  await run()
  const [approval] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('link', { name: 'Open the approval' }).click(),
  ])
  await approval.getByLabel(/^Reason/).fill('Not this month')
  await approval.getByRole('button', { name: 'Reject' }).click()
  await approval.getByText(/It was rejected by local.*: Not this month/).waitFor()
  await approval.close()
  // The call is still there, and now says why it doesn't run.
  await page.getByRole('button', { name: 'Run the approved call' }).click()
  await page
    .getByText(/Not this month/)
    .first()
    .waitFor()

  // Shown backwards, it would name another receiver.
  const params = { amount: 6, to: '\u202eecila' }
  const asked = await server.installation.manager.getExecutor().execute('pay', params, { caller: 'local' })
  await page.goto(`${server.url}/approvals/${asked.success || asked.details?.approval?.id}`)
  const json = page.getByRole('textbox', { name: 'Parameters as JSON' })
  expect(await json.inputValue()).toContain(String.raw`"to": "\u202eecila"`)
})

test.runIf(FULL)('calls are decided in the inbox with one click', async () => {
  const server = await openTestServer({ tools: { enabled: true, registry: [PAY] } }, { local: true })
  onTestFinished(() => server.close())
  const ask = (amount: number) =>
    server.installation.manager.getExecutor().execute('pay', { amount }, { caller: 'local', tenant: 'local' })
  await ask(1)
  await ask(2)
  const { page, checkLooks } = await openPage()
  await page.goto(`${server.url}/approvals`)
  const entry = (amount: number) => page.getByRole('listitem').filter({ hasText: `"amount": ${amount}` })
  await entry(1).waitFor()
  await checkLooks('approvals')
  await entry(1).getByRole('button', { name: 'Approve pay' }).click()
  await page.getByText('Approved pay').waitFor()
  await entry(2).getByRole('button', { name: 'Reject pay' }).click()
  await page.getByText('No calls wait for approval').waitFor()
  await expect
    .poll(async () => (await server.installation.storage.pauses.list({ tenant: 'local', now: 0, limit: 9 })).pauses)
    .toMatchObject([
      { params: { amount: 2 }, decision: 'reject' },
      { params: { amount: 1 }, decision: 'approve' },
    ])
})

test.runIf(FULL)(
  'a model asks for a write, the server is restarted, a person approves on the page, and the run goes on',
  {
    timeout: 240_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-approvals-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const provider = createServer(async (request, response) => {
      const { messages } = JSON.parse(await text(request)) as { messages: { role: string }[] }
      const ended = messages.at(-1)?.role === 'tool'
      const call = { index: 0, id: 'c', type: 'function', function: { name: 'pay', arguments: '{"amount":5}' } }
      const delta = ended ? { content: 'I paid 5.' } : { tool_calls: [call] }
      const chunk = (choice: object) =>
        frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] })
      const said = chunk({ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null })
      const finish = chunk({ index: 0, delta: {}, finish_reason: ended ? 'stop' : 'tool_calls' })
      response.setHeader('content-type', 'text/event-stream').end(`${said}${finish}data: [DONE]\n\n`)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void provider.close())
    await once(provider, 'listening')
    const config = {
      tools: { enabled: true, registry: [PAY] },
      providers: {
        openai: { base_url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`, api_key: 'none' },
      },
      models: [{ id: 'openai:m', name: 'Clerk', capabilities: ['function-calling'] }],
    }
    await writeFile(join(folder, 'toolyard.config.json'), JSON.stringify(config))
    const start = () => startServer({ TOOLYARD_DATA: join(folder, 'data') }, folder)
    const first = await start()
    onTestFinished(() => void first.process.kill('SIGKILL'))
    const { page } = await openPage({ mayComplain: /net::ERR_/ })
    await page.goto(`${first.url}/tools-testing`)
    await chooseModel(page, 'Clerk')
    await page.getByLabel('Test Query').fill('Pay 5')
    await page.getByRole('button', { name: 'Run Test' }).click()
    await page.getByText('I am waiting for approval').first().waitFor()
    await first.end()

    const second = await start()
    onTestFinished(() => void second.process.kill('SIGKILL'))
    await page.goto(`${second.url}/approvals`)
    await page.getByRole('link', { name: 'pay' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText(/It was approved by local/).waitFor()
    const { runs } = (await vi.waitFor(
      async () => {
        const listed = await (await fetch(`${second.url}/api/runs`)).json()
        expect(listed).toMatchObject({ runs: [{ stop_reason: 'stop' }] })
        return listed
      },
      { timeout: 60_000, interval: 200 },
    )) as { runs: { id: string }[] }
    await page.goto(`${second.url}/runs/${runs[0]?.id}`)
    await page.getByText('I paid 5.').waitFor()
    await page.getByText('pay').first().waitFor()
  },
)
