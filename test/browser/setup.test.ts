import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { household } from '../../spec/fixtures/mcp-servers.ts'
import { openaiChatFrames } from '../../src/models/fixtures/wire-frames.ts'
import { api } from '../../src/openapi/fixtures/documents.ts'
import { FULL } from '../setup/full.ts'
import { openPage as open } from './open-browser.ts'
import { openService, openSetupServer } from './setup-server.ts'

const TOKEN = 'sk-live-4711-never-shown'
const READABLE =
  'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])'

const DROPPED = `(() => {
  const data = new DataTransfer()
  data.items.add(new File(['# Toaster\\n\\nClean it weekly.'], 'toaster.md'))
  return data
})()`

const write = (page: Page) => page.getByRole('button', { name: 'Write and reload' })
const diff = (page: Page) => page.getByRole('region', { name: 'Changed lines' })

test('adds an MCP server with the keyboard alone: paste, test, see its tools, write', async () => {
  const server = await openSetupServer()
  const before = await server.text()
  const { page, checkLooks } = await open()
  await page.goto(server.url)
  await page.getByRole('link', { name: 'Add tools' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Add tools, models and knowledge' }).waitFor()
  await page.getByText('toolyard.config.json is written, with a backup.').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Add an MCP server' }).waitFor()
  const pasted = page.getByRole('textbox', { name: 'Configuration, URL or command' })
  await pasted.focus()
  await page.keyboard.insertText(JSON.stringify({ mcpServers: { home: household() } }))
  await page.keyboard.press('Control+Enter')
  await page.getByText('connected', { exact: true }).waitFor()
  await page.getByRole('list', { name: 'Tools of home' }).getByText('control_zwave_device').waitFor()
  await page
    .getByRole('log')
    .getByText(/^The change is shown/)
    .waitFor()
  expect(await diff(page).textContent()).toContain('"mcpServers"')
  expect(await server.text()).toBe(before)
  await checkLooks('setup-mcp')
  await write(page).focus()
  await page.keyboard.press('Enter')

  const said = page.getByRole('status').filter({ hasText: 'Added the MCP server home.' })
  await said.waitFor()
  const [, backup = ''] = /Backup: (\S+)/.exec(String(await said.textContent())) ?? []
  const [name = ''] = (await readdir(server.home)).filter((file) => file.includes('.backup-'))
  expect(backup.startsWith(name)).toBe(true)
  expect(await readFile(join(server.home, name), 'utf8')).toBe(before)
  expect((await server.config()).mcpServers).toEqual({ home: household() })
  // The server connects after the file is written.
  await page.getByRole('list', { name: 'MCP servers' }).getByText('connected', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Tools', exact: true }).click()
  await page.getByRole('link', { name: /control_zwave_device/ }).waitFor()
})

test('tests the key of a model before it is added, and says beside the change that the test failed', async () => {
  const keys: (string | undefined)[] = []
  const { start, text, finish } = openaiChatFrames
  const service = await openService(({ headers }, response) => {
    keys.push(headers.authorization)
    if (headers.authorization === `Bearer ${TOKEN}`) {
      const frames = [...start, ...text('OK, ready.'), ...finish('stop')]
      response.setHeader('content-type', 'text/event-stream').end(frames.join(''))
    } else response.writeHead(401).end('{}')
  })
  const server = await openSetupServer()
  const { page, checkLooks } = await open()
  await page.goto(`${server.url}/setup/model`)
  await page.getByRole('radio', { name: /OpenAI-compatible/ }).check({ force: true })
  const test = page.getByRole('button', { name: 'Test', exact: true })
  expect(await test.isDisabled()).toBe(true)
  const provider = page.getByRole('textbox', { name: 'Name of the provider' })
  await provider.press('Tab')
  expect(await provider.getAttribute('aria-invalid')).toBe('false')
  await provider.fill('a')
  await provider.fill('')
  await provider.press('Tab')
  expect(await provider.getAttribute('aria-invalid')).toBe('true')
  await provider.fill('office')
  await page.getByRole('textbox', { name: 'Address' }).fill(service)
  await page.getByRole('radio', { name: /Store it on the server/ }).check()
  await page.getByRole('textbox', { name: 'Model', exact: true }).fill('small')
  await page.getByLabel('Key', { exact: true }).fill('wrong')
  await test.click()
  await page.getByRole('alert').getByText('The provider refuses the key.').waitFor()
  await page.getByText('The test failed. You can still add the model.').waitFor()
  expect(await write(page).isEnabled()).toBe(true)
  await checkLooks('setup-model-test')
  await page.getByLabel('Key', { exact: true }).fill(TOKEN)
  await page.getByText('The test failed.').waitFor({ state: 'detached' })
  await test.press('Enter')
  const works = page.getByRole('status').filter({ hasText: /^works It answered in .*: “OK, ready\.”$/ })
  await works.waitFor()
  await checkLooks('setup-model-works')
  await page.getByRole('textbox', { name: 'Display name' }).fill('Small one')
  expect(await works.isVisible()).toBe(true)
  expect(keys).toEqual(['Bearer wrong', `Bearer ${TOKEN}`])
  await page.getByRole('textbox', { name: 'Model', exact: true }).fill('large')
  await works.waitFor({ state: 'detached' })
  expect(await page.evaluate(READABLE)).not.toContain(TOKEN)
  await write(page).click()
  await page.getByText(/Added the model Small one\. Backup:/).waitFor()
  expect(await server.text()).not.toContain(TOKEN)
})

test.runIf(FULL)('makes a tool of a curl command to this machine, with its key in the secret store', async () => {
  const asked: string[] = []
  const service = await openService(({ url = '', headers }, response) => {
    asked.push(`${url} ${headers.authorization}`)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ name: 'Ada' }))
  })
  const server = await openSetupServer({ without: 'http' })
  // The page of the removed tool asks for it once more.
  const { page, checkLooks, asked: requests } = await open({ mayComplain: /404/ })
  await page.goto(`${server.url}/setup/curl`)
  await page
    .getByRole('textbox', { name: 'curl command' })
    .fill(`curl '${service}/users/42?verbose=true' -H 'Authorization: Bearer ${TOKEN}'`)
  await page.getByRole('button', { name: 'Read the command' }).click()
  const tool = page.getByRole('region', { name: 'The tool' })
  await tool.getByRole('textbox', { name: 'Name' }).first().fill('find_user')
  await tool.getByRole('textbox', { name: 'Description', exact: true }).fill('Finds a user.')
  const verbose = tool.getByRole('group', { name: 'Parameter verbose' })
  expect(await verbose.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('verbose')
  await verbose.getByRole('checkbox', { name: 'Required' }).waitFor()
  await page.getByText(/is stored encrypted on the server/).waitFor()
  await expect.poll(() => diff(page).textContent()).toContain('"name": "find_user"')
  expect(await diff(page).textContent()).not.toContain(TOKEN)
  await page.getByText(/^The tool find_user cannot be called yet/).waitFor()
  await page.getByRole('checkbox', { name: 'Allow tools to reach 127.0.0.1' }).check()
  await page.getByText(/^The tool find_user cannot be called yet/).waitFor({ state: 'detached' })
  expect(await diff(page).textContent()).toContain('"allow_private": ["127.0.0.1"]')
  await checkLooks('setup-curl')
  await write(page).click()

  await page.getByText(/Added the tool find_user\. Backup:/).waitFor()
  await page.getByRole('listitem').getByText('find_user').waitFor()
  await page.getByRole('link', { name: 'Open find_user' }).click()
  await page.getByRole('heading', { name: 'find_user' }).waitFor()
  await page.getByRole('spinbutton', { name: 'user_id' }).fill('42')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('Ada').first().waitFor()
  expect(asked).toEqual([expect.stringMatching(new RegExp(`^/users/42.* Bearer ${TOKEN}$`))])
  expect(await server.text()).not.toContain(TOKEN)
  expect(await page.evaluate(READABLE)).not.toContain(TOKEN)
  expect(requests.join()).not.toContain(TOKEN)

  await page.getByRole('button', { name: 'Remove find_user' }).press('Enter')
  const removal = page.getByRole('group', { name: 'Remove the tool find_user' })
  await removal.and(page.locator(':focus')).waitFor()
  await page.getByText(/The secret \w+ stays in the store/).waitFor()
  await removal.getByRole('button', { name: 'Cancel' }).press('Enter')
  await page.getByRole('button', { name: 'Remove find_user' }).and(page.locator(':focus')).press('Enter')
  await page.getByText(/The secret \w+ stays in the store/).waitFor()
  await page.getByRole('button', { name: 'Remove the tool find_user' }).click()
  await page.getByText(/Removed the tool find_user\. Backup:/).waitFor()
  await page.getByRole('searchbox', { name: 'Search tools' }).fill('find_user')
  await page.getByText(/^0 of/).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The configuration is as before.').waitFor()
  await page.getByRole('link', { name: /find_user/ }).waitFor()
  await page.getByRole('searchbox', { name: 'Search tools' }).press('Enter')
  await page.getByRole('heading', { name: 'find_user' }).waitFor()
})

describe.runIf(FULL)('other journeys', () => {
  test('adds a model whose key is stored, and clears the field', async () => {
    const server = await openSetupServer()
    const { page, checkLooks } = await open({ mayComplain: /422/ })
    await page.goto(`${server.url}/models`)
    await page.getByRole('link', { name: 'Add a model' }).click()
    await page.getByRole('radio', { name: /Anthropic/ }).check({ force: true })
    await page.getByRole('textbox', { name: 'Model', exact: true }).fill('claude-test')
    await page.getByText('Enter the API key.').waitFor()
    expect(await write(page).isDisabled()).toBe(true)
    const key = page.getByLabel('Key', { exact: true })
    expect(await key.getAttribute('type')).toBe('password')
    await key.fill(TOKEN)
    expect(await diff(page).textContent()).toContain('${secret:ANTHROPIC_API_KEY}')
    await checkLooks('setup-model')
    await write(page).click()
    await page.getByRole('list', { name: 'Models' }).getByText('claude-test').first().waitFor()
    await page.getByText(/Added the model claude-test\. Backup:/).waitFor()
    expect(await server.text()).not.toContain(TOKEN)
    expect(await page.evaluate(READABLE)).not.toContain(TOKEN)
    await page.goBack()
    await page.getByRole('textbox', { name: 'Model', exact: true }).waitFor()
    expect(await page.content()).not.toContain(TOKEN)
    // The name of the secret is taken now, and so is that of the provider.
    await page.getByRole('radio', { name: /Anthropic/ }).check({ force: true })
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Name of the secret' }).inputValue())
      .toBe('ANTHROPIC_API_KEY_2')
    await page.getByRole('textbox', { name: 'Model', exact: true }).fill('claude-other')
    await page.getByRole('alert').getByText('There is already a provider anthropic').waitFor()
    await page.getByRole('radio', { name: /Keep what the server has/ }).check()
    await write(page).click()
    await page.getByText(/Added the model claude-other/).waitFor()
    const models = (await server.config()).models as { id: string }[]
    expect(models.map(({ id }) => id)).toEqual(['anthropic:claude-test', 'anthropic:claude-other'])
  })

  test('adds the reads of an OpenAPI document from a URL, and others from a file', async () => {
    const paths = {
      '/pets': {
        get: { operationId: 'listPets', summary: 'All pets' },
        post: { operationId: 'addPet', security: [{ token: [] }] },
      },
      '/pets/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        get: { operationId: 'getPet' },
      },
      '/photo': { put: { operationId: 'photo', requestBody: { content: { 'image/png': {} } } } },
    }
    const document = JSON.stringify(
      api(paths, { components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } } }),
    )
    const service = await openService((_request, response) => {
      response.setHeader('content-type', 'application/json').end(document)
    })
    const server = await openSetupServer()
    const { page, checkLooks } = await open()
    await page.goto(`${server.url}/setup/openapi`)
    await page.getByRole('textbox', { name: 'URL of the document' }).fill(`${service}/openapi.json`)
    await page.keyboard.press('Enter')
    await page.getByText('0 of 3 operations chosen').waitFor()
    await page.getByText(/image\/png/).waitFor()
    await page.getByRole('button', { name: 'Select all reads' }).click()
    await page.getByText('2 of 3 operations chosen').waitFor()
    await page.getByRole('searchbox', { name: 'Filter operations' }).fill('getpet')
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('1 of 3 operations chosen').waitFor()
    await expect.poll(() => diff(page).textContent()).not.toContain('getPet')
    await checkLooks('setup-openapi')
    await write(page).click()
    await page.getByText(/Added the tool listPets\. Backup:/).waitFor()
    await page.getByRole('listitem').getByText('listPets').waitFor()

    await page.goto(`${server.url}/setup/openapi`)
    const buffer = Buffer.from(document)
    await page.locator('input[type=file]').setInputFiles({ name: 'shop.json', mimeType: 'application/json', buffer })
    await page.getByRole('checkbox', { name: /addPet/ }).check()
    // Only this operation needs a key.
    await page.getByText('Enter the key, or name a variable.').waitFor()
    await page.getByRole('group', { name: 'Key for shop.example' }).getByLabel('Key', { exact: true }).fill(TOKEN)
    await write(page).click()
    await page.getByRole('link', { name: 'Open addPet' }).waitFor()
    const { registry } = (await server.config()).tools
    expect(registry.map(({ name }: { name: string }) => name)).toEqual(['hello', 'listPets', 'addPet'])
    expect(registry[2].implementation.auth.token).toMatch(/^\$\{secret:\w+\}$/)
    expect(await server.text()).not.toContain(TOKEN)
  })

  test('stores dropped files in a collection, and says which one failed', async () => {
    const server = await openSetupServer()
    const { page, checkLooks } = await open({ mayComplain: /422/ })
    await page.goto(`${server.url}/setup/knowledge`)
    await page.getByRole('textbox', { name: 'Name of the collection' }).fill('manuals')
    await page.getByText('Choose at least one file.').waitFor()
    const files = [
      {
        name: 'kettle.md',
        mimeType: 'text/markdown',
        buffer: Buffer.from('# Kettle\n\nThe warranty lasts two years.'),
      },
      { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from('\x89PNG\r\n\x1a\n0000000000000', 'latin1') },
    ]
    await page.locator('input[type=file]').setInputFiles(files)
    await page.getByRole('button', { name: 'Write, reload and store 2 files' }).click()
    await page.getByText('1 of 2 files stored, 1 failed.').waitFor()
    await page.getByText(/photo\.png.*looks like a PNG image/).waitFor()
    await page.getByRole('list', { name: 'Files' }).getByText('1 chunk').waitFor()
    await checkLooks('setup-knowledge')
    // Another file, dropped.
    const data = await page.evaluateHandle(DROPPED)
    await page.getByRole('region', { name: 'Choose files' }).dispatchEvent('drop', { dataTransfer: data })
    await page.getByText('2 of 3 files stored, 1 failed.').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Open search_manuals' }).click()
    await page.getByRole('textbox', { name: 'query' }).fill('warranty')
    await page.getByRole('button', { name: 'Run' }).click()
    await page
      .getByText(/lasts two years/)
      .first()
      .waitFor()
    // A second time the configuration stays as it is.
    const text = await server.text()
    await page.goto(`${server.url}/setup/knowledge`)
    await page.getByRole('textbox', { name: 'Name of the collection' }).fill('manuals')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'iron.md', mimeType: 'text/markdown', buffer: Buffer.from('# Iron') })
    await page.getByRole('button', { name: 'Store 1 file' }).click()
    await page.getByText('1 of 1 file stored.').waitFor()
    expect(await server.text()).toBe(text)
  })

  test('shows the text to copy if the file is read-only', async () => {
    const server = await openSetupServer()
    await chmod(server.file, 0o444)
    const { page, violations } = await open()
    await page.goto(`${server.url}/setup/mcp`)
    await page.getByRole('textbox', { name: 'Configuration, URL or command' }).fill('https://mcp.shop.test/mcp')
    await page.getByText(/toolyard\.config\.json is read-only/).waitFor()
    expect(await page.getByRole('region', { name: 'Text to copy' }).textContent()).toContain('"shop')
    await page.getByRole('button', { name: 'Copy' }).waitFor()
    expect(await write(page).count()).toBe(0)
    expect(await violations()).toEqual([])
  })

  test('shows the change again if the file has changed meanwhile', async () => {
    const server = await openSetupServer()
    const { page } = await open({ mayComplain: /409/ })
    await page.goto(`${server.url}/setup/mcp`)
    await page.getByRole('textbox', { name: 'Configuration, URL or command' }).fill('https://mcp.shop.test/mcp')
    await diff(page).waitFor()
    const config = await server.config()
    await writeFile(server.file, `${JSON.stringify({ ...config, limits: { calls_per_minute: 7 } }, null, 2)}\n`)
    await write(page).click()
    await page.getByText('The file has changed since you saw this.').waitFor()
    await expect.poll(() => diff(page).textContent()).toContain('calls_per_minute')
    await write(page).click()
    await page.getByText(/Added the MCP server shop/).waitFor()
    expect(await server.config()).toMatchObject({ limits: { calls_per_minute: 7 }, mcpServers: {} })
  })

  test('names the scope that a key lacks', async () => {
    const server = await openSetupServer({ local: false })
    const { page, violations } = await open()
    await page.goto(`${server.url}/setup/mcp`)
    await page.getByLabel('API key').fill(await server.key('acme', 'operator'))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Your key can’t change the configuration').waitFor()
    await page.getByText('installation', { exact: true }).waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
    expect(await violations()).toEqual([])
  })

  test('opens each form from the palette', async () => {
    const server = await openSetupServer()
    const { page } = await open()
    await page.goto(server.url)
    await page.getByText('hello').first().waitFor()
    for (const [query, title] of [
      ['curl', 'Add a tool from curl'],
      ['openapi', 'Add tools from OpenAPI'],
      ['add mcp', 'Add an MCP server'],
      ['add model', 'Add a model'],
      ['add knowledge', 'Add knowledge'],
    ] as const) {
      await page.keyboard.press('Control+k')
      const field = page.getByRole('combobox', { name: 'Go to' })
      const active = () => field.getAttribute('aria-activedescendant')
      const first = await active()
      await field.fill(query)
      await page
        .getByRole('dialog')
        .getByRole('status')
        .getByText(/^\d+ results?$/)
        .waitFor()
      expect(await active()).not.toBe(first)
      expect(await page.locator(`[id="${await active()}"]`).getAttribute('aria-selected')).toBe('true')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: title }).waitFor()
    }
  })
})
