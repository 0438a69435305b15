import { mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { sharedService } from '../setup/shared-services.ts'
import { openWindow, type WindowOptions } from './browser-window.ts'

const AXE = readFileSync(new URL('../../web/node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const PICTURES = fileURLToPath(new URL('../../.vitest/screenshots/', import.meta.url))
const AXE_OPTIONS = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  // Only violations are reported, and only by their HTML.
  resultTypes: ['violations'],
  selectors: false,
}

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
  /** Keeps a picture of the whole page, if TOOLYARD_TEST_PICTURES is set. */
  picture(name: string): Promise<void>
}

let connected: Promise<Browser> | undefined

/** The Chromium that all test files share. Each page opens in a context of its own. */
const browser = (): Promise<Browser> => {
  connected ??= sharedService('chromium').then((url) => chromium.connect(url))
  return connected
}

/** A page in a window of its own. A test in which its console complains, or its policy is broken, fails. */
export async function openPage(options: PageOptions = {}): Promise<OpenPage> {
  const { theme = 'light', width = 1_280, mayComplain } = options
  const context = await openWindow(await browser(), { theme, width })
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
      if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE)
      const found: Findings = await page.evaluate(`axe.run(document, ${JSON.stringify(AXE_OPTIONS)})`)
      return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
    },
    async picture(name) {
      if (process.env.TOOLYARD_TEST_PICTURES === undefined) return
      mkdirSync(PICTURES, { recursive: true })
      await page.screenshot({ path: `${PICTURES}${name}-${theme}-${width}.png`, fullPage: true })
    },
  }
}
