import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ENCRYPTION_KEY, openAccounts } from '../../src/server/fixtures/open-connections.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { FULL } from '../setup/full.ts'
import { openPage as open } from './open-browser.ts'
import { WITH_PLAIN_MODELS } from './shipped-config.ts'

async function openKeyed() {
  const server = await openTestServer(WITH_PLAIN_MODELS)
  onTestFinished(() => server.close())
  return { ...server, admin: await server.key('acme') }
}

test('keeps a session in an HttpOnly cookie until the user signs out', async () => {
  const { url, admin } = await openKeyed()
  const { page, context, violations, picture } = await open({ mayComplain: /401/ })
  await page.goto(`${url}/tools-testing`)
  const field = page.getByLabel('API key')
  await field.and(page.locator(':focus')).fill('ty_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The API key is not valid').waitFor()
  expect(await violations()).toEqual([])
  await picture('sign-in')
  await field.fill(admin)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Test Tool Calling' }).waitFor()
  const [cookie] = await context.cookies()
  const value = expect.stringMatching(/^[\w-]{43}$/)
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/', value })
  const readable = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'
  expect(await page.evaluate(readable)).not.toContain('ty_')
  await page.reload()
  await page.getByRole('heading', { name: 'Test Tool Calling' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).press('Enter')
  await field.and(page.locator(':focus')).waitFor()
  expect(await context.cookies()).toEqual([])
  await page.reload()
  await field.waitFor()
})

test.runIf(FULL)('calls tools while signed in and asks for a key again after it is revoked', async () => {
  const { url, admin, installation } = await openKeyed()
  const { page } = await open({ mayComplain: /401/ })
  await page.goto(`${url}/tool/calculate`)
  await page.getByLabel('API key').fill(admin)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('textbox', { name: 'expression' }).fill('6*7')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('42', { exact: true }).waitFor()
  const { keys } = installation.storage
  for (const { id } of await keys.list()) await keys.revoke(id, new Date().toISOString())
  await installation.callers.load(keys)
  await page.getByRole('link', { name: 'Testing' }).click()
  await page.getByLabel('API key').waitFor()
})

test.runIf(FULL)('tells a read-only key what it lacks and requests nothing more', async () => {
  const { url, key } = await openKeyed()
  const reader = await key('acme', 'user', ['read'])
  const { page, asked } = await open()
  await page.goto(`${url}/tool/calculate`)
  await page.getByLabel('API key').fill(reader)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Your key can’t call tools.').waitFor()
  await page.getByRole('tab', { name: 'History' }).click()
  await page.getByText('Your key can’t view calls').waitFor()
  await page.getByRole('link', { name: 'Testing' }).click()
  await page.getByText('Your key can’t ask models.').waitFor()
  expect(asked.filter((address) => /metrics|audit|threads/.test(address))).toEqual([])
})

describe('with an issuer', () => {
  const roles = { owner: { scopes: ['read'], tools: ['get_*'] } } as const
  let accounts: Awaited<ReturnType<typeof openAccounts>>
  let server: Awaited<ReturnType<typeof openTestServer>>
  beforeAll(async () => {
    accounts = await openAccounts()
    const { settings: oidc, serves } = accounts.issuer
    const address = { public_url: 'http://127.0.0.1' }
    const { mcpServers: _, ...config } = accounts.config({ server: address, roles, auth: { oidc } })
    server = await openTestServer(config, { env: { TOOLYARD_ENCRYPTION_KEY: ENCRYPTION_KEY } })
    address.public_url = server.url
    serves(server.url)
  })
  afterAll(async () => {
    await server.close()
    await accounts.close()
  })

  test('signs a user in at the issuer, shows who it is, and says why an account is refused', async () => {
    const { issuer } = accounts
    issuer.state.user = 'eve'
    const { page, context, violations } = await open({ mayComplain: /401/ })
    await page.goto(server.url)
    const signIn = page.getByRole('link', { name: 'Sign in with your account' })
    await signIn.click()
    await page.getByText('Your account has no role on this server.').waitFor()
    expect(await violations()).toEqual([])
    await context.clearCookies()
    issuer.state.user = 'ada'
    await signIn.click()
    await page.getByText('Ada Lovelace').waitFor()
    await page.goto(`${server.url}/settings`)
    await page.getByText('Signed in as “Ada Lovelace”').waitFor()
    await page.getByRole('columnheader', { name: 'owner' }).waitFor()
    await page.getByRole('cell', { name: 'get_*' }).waitFor()
    const token = issuer.token({ sub: 'bob', name: 'Bob', roles: ['staff'] })
    const ask = () => fetch(`${server.url}/api/tools/list`, { headers: { authorization: `Bearer ${token}` } })
    expect((await ask()).status).toBe(200)
    await page.reload()
    await page.getByRole('button', { name: 'Sign out Bob' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('list', { name: 'Users' }).getByText('signed out', { exact: true }).waitFor()
    expect((await ask()).status).toBe(401)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await signIn.waitFor()
    await page.reload()
    await signIn.waitFor()
  })

  test.runIf(FULL)('connects an account for a call, shows it in the settings and revokes it', async () => {
    accounts.issuer.state.user = 'ada'
    const { page, context, checkLooks, picture } = await open({ mayComplain: /401|403/ })
    await page.goto(server.url)
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.getByText('Ada Lovelace').waitFor()
    await page.goto(`${server.url}/tool/whoami`)
    const run = page.getByRole('button', { name: 'Run', exact: true })
    await run.click()
    await page.getByText('CONNECTION_REQUIRED').first().waitFor()
    expect(accounts.tokens).toEqual([])
    await checkLooks('connection-required')
    const [connecting] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('link', { name: 'Connect the account' }).click(),
    ])
    await connecting.getByRole('heading', { name: 'Connect an account' }).waitFor()
    await connecting.close()
    await page.goto(connecting.url())
    await page.getByRole('heading', { name: 'Connect an account' }).waitFor()
    await checkLooks('connect')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('The account is connected.').waitFor()
    const connections = page.getByRole('list', { name: 'Connections' })
    await connections.getByText('connected', { exact: true }).waitFor()
    await checkLooks('connections')
    await page.goto(`${server.url}/tool/whoami`)
    await run.click()
    await page.getByText('success', { exact: true }).waitFor()
    const [token = ''] = accounts.tokens
    expect(await accounts.issuer.accountOf(token)).toBe('ada')
    await page.goto(`${server.url}/settings`)
    await connections.getByRole('button', { name: /^Revoke/ }).click()
    await connections.getByText('not connected').waitFor()
    await picture('connections-revoked')
    expect(await accounts.issuer.accountOf(token)).toBeUndefined()
    await page.goto(`${server.url}/tool/whoami`)
    await run.click()
    await page.getByText('CONNECTION_REQUIRED').first().waitFor()
  })
})
