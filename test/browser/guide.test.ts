import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuide } from '../../scripts/docs.js'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { FULL } from '../setup/full.ts'
import { openPage as open } from './open-browser.ts'

const root = join(import.meta.dirname, '../..')
const pagesOf = (folder: string, extension: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(extension) && file !== `404${extension}`)
    .map((file) => file.slice(0, -extension.length))
    .sort()

describe.runIf(FULL)('the docs site', () => {
  let server: TestServer

  beforeAll(async () => {
    // Fails at links that lead nowhere.
    await buildGuide(root)
    server = await openTestServer({}, { local: true })
  }, 600_000)
  afterAll(() => server.close())

  test('has every page of the docs, and no inline scripts', async () => {
    const pages = pagesOf('site/dist', '.html')
    expect(pages).toEqual(pagesOf('docs', '.md'))
    for (const page of pages) {
      const response = await fetch(`${server.url}/guide/${page}.html`)
      expect([page, response.status]).toEqual([page, 200])
      expect([page, (await response.text()).match(/<script(?![^>]* src=)[^>]*>/g)]).toEqual([page, null])
    }
  })

  test('finds pages, and breaks no rule of its content security policy', async () => {
    const { page } = await open()
    const refused: string[] = []
    page.on('console', (message) => message.type() === 'error' && refused.push(message.text()))
    await page.goto(`${server.url}/guide/`)
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill('RATE_LIMITED')
    await page
      .getByRole('option', { name: /Errors/ })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor()
    expect(page.url()).toContain('/guide/reference/errors')
    expect(refused).toEqual([])
  })
})
