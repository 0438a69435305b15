// `npm run screenshots`: writes the pictures of the docs, docs/images/<page>.png, from a server that has been used for a day.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { launchBrowser, openWindow, pictureAtRest } from '../test/browser/browser-window.ts'
import { openUsedServer } from '../test/browser/newcomer-server.ts'
import { type ListedPage, PAGES } from '../test/browser/page-list.ts'

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))

type Server = Awaited<ReturnType<typeof openUsedServer>>

async function write(browser: Browser, server: Server, listed: ListedPage, theme: 'light' | 'dark'): Promise<void> {
  const context = await openWindow(browser, { theme })
  const page = await context.newPage()
  await page.goto(server.url + listed.path(server))
  await page.getByText(listed.ready).first().waitFor()
  await listed.use?.(page, server)
  const picture = await pictureAtRest(page)
  const file = `${listed.name}${theme === 'dark' ? '-dark' : ''}.png`
  writeFileSync(IMAGES + file, picture)
  console.log(`docs/images/${file}  ${Math.ceil(picture.length / 1_000)} kB`)
  await context.close()
}

mkdirSync(IMAGES, { recursive: true })
const browser = await launchBrowser()
const server = await openUsedServer()
try {
  for (const listed of PAGES) {
    for (const theme of listed.pictured ?? []) await write(browser, server, listed, theme)
  }
} finally {
  await browser.close()
  await server.close()
}
