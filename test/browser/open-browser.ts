import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { launchBrowser, openWindow, type WindowOptions } from './browser-window.ts'

const AXE = fileURLToPath(new URL('../../web/node_modules/axe-core/axe.min.js', import.meta.url))
const PICTURES = fileURLToPath(new URL('../../.vitest/screenshots/', import.meta.url))
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe gives, as far as it is looked at. */
interface Findings {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

export interface PageOptions extends WindowOptions {
  /** What the console may say, because the test makes it happen. */
  readonly mayComplain?: RegExp
}

/** A page of a browser, and what it complained about. */
export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Every address that was asked for. */
  readonly asked: string[]
  /** What axe finds wrong, each in one line. */
  violations(): Promise<string[]>
  /** Keeps a picture of the whole page. */
  picture(name: string): Promise<void>
}

/** One real Chromium for the tests of a file, ended with them. */
export function useBrowser(): (options?: PageOptions) => Promise<OpenPage> {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  }, 60_000)
  afterAll(() => browser?.close())
  return (options) => openPage(browser, options)
}

/** A page in a window of its own. A test in which its console complains, or its policy is broken, fails. */
async function openPage(browser: Browser, options: PageOptions = {}): Promise<OpenPage> {
  const { theme = 'light', width = 1_280, mayComplain } = options
  const context = await openWindow(browser, { theme, width })
  // Before the page's own, so that its policy need not allow it.
  await context.addInitScript({ path: AXE })
  const page = await context.newPage()
  const complaints: string[] = []
  const asked: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => asked.push(request.url()))
  onTestFinished(async () => {
    await context.close()
    expect(complaints.filter((text) => mayComplain?.test(text) !== true)).toEqual([])
  })
  return {
    page,
    context,
    asked,
    async violations() {
      const found = (await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(RULES)} })`)) as Findings
      return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
    },
    async picture(name) {
      mkdirSync(PICTURES, { recursive: true })
      await page.screenshot({ path: `${PICTURES}${name}-${theme}-${width}.png`, fullPage: true })
    },
  }
}
