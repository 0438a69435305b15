import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SCOPES } from '../../src/app/callers/callers.ts'
import { secretVariable } from '../../src/core/environment.ts'
import { addPackages, newSigner, packageFiles } from '../../src/packages/fixtures/package-files.ts'
import { signPackage } from '../../src/packages/package.ts'
import { fingerprintOf } from '../../src/packages/signing.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { FULL } from '../setup/full.ts'
import { type OpenPage, openPage as open, type PageOptions } from './open-browser.ts'
import { openSetupServer } from './setup-server.ts'
import { WITH_PLAIN_MODELS } from './shipped-config.ts'

const TENANTS = { acme: { flags: { documents: true, get_weather: false } } }

async function openServer(local = false) {
  const server = await openTestServer({ ...WITH_PLAIN_MODELS, tenants: TENANTS }, { local })
  onTestFinished(() => server.close())
  return server
}

async function openSettings(url: string, key?: string, options: PageOptions = {}): Promise<OpenPage> {
  const opened = await open(options)
  await opened.page.goto(`${url}/settings`)
  if (key !== undefined) {
    await opened.page.getByLabel('API key').fill(key)
    await opened.page.getByRole('button', { name: 'Sign in' }).click()
  }
  await opened.page.getByRole('heading', { name: 'Settings' }).waitFor()
  return opened
}

const READABLE = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'

test.runIf(FULL)('creates the first key, shows it once and signs in with it', async () => {
  const server = await openServer(true)
  const { page, context, violations, picture } = await openSettings(server.url)
  await page.getByText('This server has no API keys.').waitFor()
  await page.getByText('No keys yet').waitFor()
  const form = page.getByRole('form', { name: 'Create a key' })
  await form.getByText(/no parameters and results of calls unless .* no longer lists the threads/).waitFor()
  await picture('settings-local')
  await page.getByRole('textbox', { name: 'Name' }).fill('ada')
  expect(await page.getByRole('combobox', { name: 'Role' }).count()).toBe(0)
  await page.keyboard.press('Enter')
  await page.getByText('Created key “ada”').waitFor()
  const key = String(await page.getByText(/^ty_/).textContent())
  expect(server.installation.callers.find(key)).toMatchObject({ name: 'ada', role: 'admin', tenant: 'local' })
  await page.getByText('Signed in with the key “ada”').waitFor()
  // It has the rights that the page had before.
  await page.getByRole('form', { name: 'Set a flag' }).waitFor()
  const [cookie] = await context.cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', value: expect.stringMatching(/^[\w-]{43}$/) })
  expect(await page.evaluate(READABLE)).not.toContain('ty_')
  expect(await violations()).toEqual([])
  await picture('settings-new-key')
  await page.getByRole('button', { name: 'Done' }).press('Enter')
  await page.getByRole('listitem').filter({ hasText: 'ada' }).and(page.locator(':focus')).waitFor()
  await expect.poll(() => page.getByText(/^ty_/).count()).toBe(0)
  await page.reload()
  await page.getByText('Signed in with the key “ada”').waitFor()
  expect(await page.content()).not.toContain('ty_')
})

test('creates a key that signs in and revokes it after confirmation', async () => {
  const server = await openServer()
  const admin = await openSettings(server.url, await server.key('acme', 'admin'))
  const form = admin.page.getByRole('form', { name: 'Create a key' })
  await form.getByRole('textbox', { name: 'Name' }).fill('ci')
  await form.getByRole('combobox', { name: 'Role' }).selectOption('operator')
  await form.getByRole('combobox', { name: 'Valid' }).selectOption('90')
  await form.getByRole('spinbutton', { name: 'Calls per minute' }).fill('60')
  await form.getByRole('checkbox', { name: 'chat' }).uncheck()
  await form.getByRole('button', { name: 'Create key' }).click()
  await admin.page.getByText('Created key “ci”').waitFor()
  const key = String(await admin.page.getByText(/^ty_/).textContent())
  const stored = (await server.installation.storage.keys.list()).find(({ name }) => name === 'ci')
  expect(stored).toMatchObject({ tenant: 'acme', role: 'operator', calls_per_minute: 60 })
  expect(stored?.scopes).toEqual(['read', 'call', 'observe', 'validate', 'approve'])
  expect(Date.parse(String(stored?.expires_at)) - Date.now()).toBeGreaterThan(89 * 86_400_000)

  const holder = await openSettings(server.url, key, { mayComplain: /401/ })
  await holder.page.getByText('Signed in with the key “ci”').waitFor()
  await holder.page.getByText('Your key can’t manage keys and tenants').waitFor()

  await admin.page.getByRole('button', { name: 'Revoke ci' }).click()
  const dialog = admin.page.getByRole('alertdialog')
  await dialog.getByText('everything that runs for it ends').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(server.installation.callers.find(key)).toBeDefined()
  await admin.page.getByRole('button', { name: 'Revoke ci' }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).press('Enter')
  await admin.page.getByText('Revoked keys (1)').waitFor()
  await admin.page.getByRole('listitem').filter({ hasText: 'acme admin' }).and(admin.page.locator(':focus')).waitFor()
  expect(server.installation.callers.find(key)).toBeUndefined()
  await holder.page.getByRole('link', { name: 'Models', exact: true }).click()
  await holder.page.getByLabel('API key').waitFor()
  await admin.page.getByRole('button', { name: 'Undo' }).click()
  await admin.page.getByText('“ci” is valid again').waitFor()
  expect(server.installation.callers.find(key)).toBeDefined()
})

test('switches the stored payloads, stores a secret and removes it', async () => {
  const server = await openSetupServer()
  const { page, checkLooks } = await open()
  await page.goto(`${server.url}/settings`)
  const form = page.getByRole('form', { name: 'Add a secret' })
  await form.getByRole('textbox', { name: 'Name' }).fill('SPARE')
  await form.getByLabel('Value').fill('a-secret-value')
  await form.getByLabel('Value').press('Enter')
  await page.getByText(/^Stored the secret SPARE\./).waitFor()
  expect(await form.getByLabel('Value').inputValue()).toBe('')
  expect(await page.content()).not.toContain('a-secret-value')
  await page.getByRole('combobox', { name: 'Stored parameters and results' }).selectOption('errors')
  await page.getByRole('region', { name: 'Changed lines' }).getByText('"payloads": "errors"').waitFor()
  await page.getByRole('list', { name: 'Secrets' }).getByText('The configuration doesn’t use it.').waitFor()
  if (FULL) await checkLooks('settings-installation')
  await page.getByRole('button', { name: 'Write and reload' }).click()
  await expect.poll(() => server.installation.payloads).toBe('errors')
  expect((await server.config()).storage).toEqual({ payloads: 'errors' })
  await page.getByRole('button', { name: 'Replace SPARE' }).click()
  await page.getByLabel('New value').and(page.locator(':focus')).waitFor()
  await page.keyboard.type('another-secret-value')
  await page.keyboard.press('Enter')
  await page.getByText(/^Replaced the value of SPARE\./).waitFor()
  // The field is gone: the focus is on the part around it, not at the start of the page.
  await page.locator('section:focus', { hasText: 'SPARE' }).waitFor()
  expect(await server.installation.secrets.variables()).toEqual({ [secretVariable('SPARE')]: 'another-secret-value' })
  expect(await page.content()).not.toContain('another-secret-value')
  await page.getByRole('button', { name: 'Remove SPARE' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No secrets', { exact: true }).waitFor()
  expect(await server.installation.secrets.names()).toEqual([])
})

test.runIf(FULL)('removes a provider with its models, and shows the change first', async () => {
  const server = await openSetupServer()
  const change = { kind: 'provider', name: 'ollama', base_url: 'http://127.0.0.1:9', models: [{ id: 'small' }] }
  const body = JSON.stringify({ change, write: true })
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${server.url}/api/setup/changes`, { method: 'POST', headers, body })).ok).toBe(true)
  const { page, checkLooks } = await open()
  await page.goto(`${server.url}/settings`)
  await page.getByRole('button', { name: 'Remove ollama', exact: true }).click()
  await page.getByRole('region', { name: 'Changed lines' }).getByText('ollama:small').waitFor()
  await checkLooks('settings-remove-provider')
  await page.getByRole('button', { name: 'Remove the provider ollama' }).click()
  await page.getByText(/^Removed the provider ollama\. Backup:/).waitFor()
  expect(await server.config()).toMatchObject({ providers: {}, models: [] })
  await page.getByText('No providers and models').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The configuration is as before.').waitFor()
  await page.getByRole('button', { name: 'Remove ollama', exact: true }).waitFor()
  expect((await server.config()).models).toMatchObject([{ id: 'ollama:small' }])
})

test.runIf(FULL)('rotates a key and shows the new secret once', async () => {
  const server = await openTestServer({ tools: { enabled: true } })
  onTestFinished(() => server.close())
  const admin = await server.key('acme', 'admin')
  const { page, checkLooks } = await open()
  await page.goto(`${server.url}/settings`)
  await page.getByLabel('API key').fill(admin)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: /^Rotate / }).click()
  await page.getByLabel('The former secret ends').selectOption('60')
  if (FULL) await checkLooks('rotate-key')
  await page.getByRole('button', { name: 'Rotate the key' }).click()
  const made = page.getByRole('region', { name: 'The new key' })
  await made.getByText(/^The key is shown only once.*The former secret works until/).waitFor()
  const secret = (await made.locator('code').textContent()) ?? ''
  expect(server.installation.callers.find(secret)).toMatchObject({ role: 'admin' })
  expect(server.installation.callers.find(admin)).toMatchObject({ role: 'admin' })
  await made.getByRole('button', { name: 'Done' }).press('Enter')
  await page
    .getByRole('button', { name: /^Rotate / })
    .and(page.locator(':focus'))
    .waitFor()
  expect(await page.content()).not.toContain(secret)
})

test.runIf(FULL)('edits the rights of a key, and shows the lines that define a role', async () => {
  const analyst = { scopes: ['read', 'call', 'observe'], tools: ['get_*'] }
  const server = await openTestServer({ ...WITH_PLAIN_MODELS, roles: { analyst } } as never)
  onTestFinished(() => server.close())
  const { page, violations } = await openSettings(server.url, await server.key('acme', 'admin'))
  const form = page.getByRole('form', { name: 'Create a key' })
  await form.getByRole('textbox', { name: 'Name' }).fill('reports')
  await form.getByRole('combobox', { name: 'Role' }).selectOption('analyst')
  await form.getByRole('textbox', { name: 'Only these models' }).fill('mini:*')
  await form.getByRole('combobox', { name: 'Valid' }).selectOption('90')
  await form.getByRole('button', { name: 'Create key' }).click()
  const key = String(await page.getByText(/^ty_/).textContent())
  const expiresAt = server.installation.callers.find(key)?.expiresAt
  expect(server.installation.callers.find(key)).toMatchObject({ role: 'analyst', tools: ['get_*'], models: ['mini:*'] })

  await page.getByRole('button', { name: 'Edit reports' }).click()
  const edit = page.getByRole('form', { name: 'Edit reports' })
  expect(await edit.getByRole('textbox', { name: 'Only these models' }).inputValue()).toBe('mini:*')
  await edit.getByRole('textbox', { name: 'Only these tools' }).fill('get_weather calculate')
  await edit.getByRole('textbox', { name: 'Only these models' }).fill('')
  await edit.getByRole('checkbox', { name: 'observe' }).uncheck()
  await edit.getByRole('spinbutton', { name: 'Budget' }).fill('5')
  expect(await violations()).toEqual([])
  await edit.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('list', { name: 'Valid keys' }).getByText('get_weather, calculate').waitFor()
  expect(await edit.count()).toBe(0)
  expect(server.installation.callers.find(key)).toMatchObject({
    scopes: new Set(['read', 'call']),
    models: ['*'],
    budget: { per: 'month', amount: 5 },
    expiresAt,
  })

  const stored = (await server.installation.storage.keys.list()).find(({ name }) => name === 'reports')
  expect(stored?.tools).toEqual(['get_weather', 'calculate'])

  await page.getByText('Define a role').click()
  const lines = page.getByRole('form', { name: 'Define a role' })
  await lines.getByRole('combobox', { name: 'Start from' }).selectOption('analyst')
  await lines.getByRole('checkbox', { name: 'chat' }).check()
  await lines.getByRole('textbox', { name: 'Models of the role' }).fill('mini:*')
  expect(JSON.parse(String(await lines.locator('pre').textContent()))).toEqual({
    roles: { analyst: { scopes: ['read', 'call', 'chat', 'observe'], tools: ['get_*'], models: ['mini:*'] } },
  })
  expect(await violations()).toEqual([])
})

test.runIf(FULL)('warns before revoking the key in use and then signs out', async () => {
  const server = await openServer()
  const { page } = await openSettings(server.url, await server.key('acme', 'admin'), { mayComplain: /401/ })
  await page.getByRole('button', { name: 'Revoke acme admin' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('You are signed in with this key.').waitFor()
  await dialog.getByText('No other key of this tenant can manage keys').waitFor()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByLabel('API key').waitFor()
})

test.runIf(FULL)('tells a user key what it lacks and requests nothing', async () => {
  const server = await openServer()
  const { page, asked, violations } = await openSettings(server.url, await server.key('acme', 'user'))
  await page.getByText('Your key can’t manage keys and tenants').waitFor()
  await page.getByText('the keys of the tenant').waitFor()
  expect(await violations()).toEqual([])
  expect(asked.filter((address) => /api\/(keys|tenants)/.test(address))).toEqual([])
})

test.runIf(FULL)('shows the flags of a tenant read-only to its admin', async () => {
  const server = await openServer()
  const { page } = await openSettings(server.url, await server.key('acme', 'admin'))
  const flags = page.getByRole('list', { name: 'Flags of acme' })
  await flags.getByText('tenants.acme.flags.get_weather').waitFor()
  expect(await page.getByRole('form', { name: 'Set a flag' }).count()).toBe(0)
  expect(await flags.getByRole('button').count()).toBe(0)
})

test.runIf(FULL)('lets an installation admin override and reset flags', async () => {
  const server = await openServer()
  const scopes = ['read', 'manage', 'installation'] as const
  const key = await server.key('home', 'admin', scopes)
  const { page } = await openSettings(server.url, key, { mayComplain: /400/ })
  const flags = () => server.installation.tenants.flags('acme')
  await page.getByRole('button', { name: 'Allow get_weather for acme' }).click()
  await expect.poll(flags).toMatchObject({ get_weather: true })
  await page.getByRole('button', { name: 'Remove get_weather for acme' }).click()
  await expect.poll(flags).toMatchObject({ get_weather: false })
  const form = page.getByRole('form', { name: 'Set a flag' })
  const heights = form
    .locator('input, select')
    .evaluateAll((fields) => fields.map((one) => one.getBoundingClientRect().height))
  expect(new Set(await heights).size).toBe(1)
  await form.getByRole('combobox', { name: 'Tenant' }).fill('globex')
  await form.getByRole('combobox', { name: 'Permission or tool' }).fill('calculate')
  await form.getByRole('combobox', { name: 'Allowed or denied' }).selectOption('false')
  await form.getByRole('button', { name: 'Set flag' }).click()
  await page.getByRole('list', { name: 'Flags of globex' }).getByText('calculate').waitFor()
  expect(server.installation.tenants.flags('globex')).toEqual({ calculate: false })
  await form.getByRole('combobox', { name: 'Permission or tool' }).fill('a=b')
  await form.getByRole('button', { name: 'Set flag' }).click()
  await page.getByRole('alert').getByText("Invalid flag name 'a=b'").waitFor()
})

test.runIf(FULL)('passes axe and fits', async () => {
  const server = await openServer()
  await server.key('acme', 'operator', ['read', 'call'], 60)
  const admin = await server.key('acme', 'admin', ['read', 'call', 'chat', 'observe', 'manage', 'installation'])
  const { page, checkLooks } = await openSettings(server.url, admin)
  await page.getByText('the keys of the tenant').waitFor()
  await page.getByText('acme operator').waitFor()
  await page.getByText('tenants.acme.flags.get_weather').waitFor()
  await checkLooks('settings')
})

test.runIf(FULL)('lists packages and the catalogue for callers with the scope installation', async () => {
  const signer = newSigner()
  const lockFile = await addPackages(signPackage(packageFiles(), signer))
  const beside = (name: string) => join(dirname(lockFile), name)
  const listed = { name: 'fx', version: '2.0.0', source: 'npm:fx', description: 'Exchange rates' }
  await writeFile(beside('catalogue.json'), JSON.stringify({ packages: [listed] }))
  const file = beside('toolyard.config.json')
  await writeFile(file, JSON.stringify({ tools: { enabled: true }, packages: { catalogue: 'catalogue.json' } }))
  const server = await openTestServer({}, { file })
  onTestFinished(() => server.close())
  const { page, violations } = await openSettings(server.url, await server.key('acme', 'admin', SCOPES))
  const added = page.getByRole('list', { name: 'Packages' })
  await added.getByText(fingerprintOf(signer.key)).waitFor()
  expect(await added.textContent()).toContain('@acme/tools 1.0.0 from test.tgz1 tool')
  expect(await page.getByRole('list', { name: 'Catalogue' }).textContent()).toContain(
    'fx 2.0.0 from npm:fxExchange rates',
  )
  expect(await violations()).toEqual([])
  const other = await openSettings(server.url, await server.key('acme', 'admin'))
  await other.page.getByRole('heading', { name: 'Roles' }).waitFor()
  expect(await other.page.getByRole('heading', { name: 'Packages' }).count()).toBe(0)
})
