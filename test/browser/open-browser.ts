import { mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { FULL } from '../setup/full.ts'
import { sharedService } from '../setup/shared-services.ts'
import { atRest, openWindow, viewport, type WindowOptions } from './browser-window.ts'

const AXE = readFileSync(new URL('../../web/node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const PICTURES = fileURLToPath(new URL('../../.vitest/screenshots/', import.meta.url))
const AXE_OPTIONS = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  // Only violations are reported, and only by their HTML.
  resultTypes: ['violations'],
  selectors: false,
}
const DEFAULT_LOOK = { theme: 'light', width: 1_280 } as const
const LOOKS: readonly Required<WindowOptions>[] = [
  DEFAULT_LOOK,
  { theme: 'dark', width: 360 },
  ...(FULL
    ? ([
        { theme: 'light', width: 360 },
        { theme: 'dark', width: 1_280 },
      ] as const)
    : []),
]
/** By how many pixels the document and its main part are wider than what is visible. */
const OVERFLOW = `[document.documentElement, document.getElementById('main')]
  .map((element) => element.scrollWidth - element.clientWidth)`

/** The part of axe's results that is read. */
interface Findings {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

export interface PageOptions extends WindowOptions {
  /** Matches the console errors that the test causes. */
  readonly mayComplain?: RegExp
  /** Opens a new context with empty caches, which is closed after the test. A test that installs a clock needs one. */
  readonly fresh?: boolean
}

/** A page of a browser, and what the test asks about it. */
export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Every address that was requested. */
  readonly asked: string[]
  /** What axe reports, one line for each element. */
  violations(): Promise<string[]>
  /**
   * Fails if axe reports anything in light at 1280 px, or if anything is too wide there or in dark at 360 px. In
   * `npm run test:full` it checks both in every theme and width.
   */
  checkLooks(picture: string): Promise<void>
  /** Fails if anything is wider than the window. */
  checkWidth(): Promise<void>
  /** Saves a picture of the whole page if TOOLYARD_TEST_PICTURES is set. */
  picture(name: string): Promise<void>
}

interface Tab {
  readonly context: BrowserContext
  readonly page: Page
}

let connected: Promise<Browser> | undefined
/** Pages that earlier tests have used. A new one costs a process and all compiled code. */
const idle: Tab[] = []

/** The Chromium that all test files share. */
const browser = (): Promise<Browser> => {
  connected ??= sharedService('chromium').then((url) => chromium.connect(url))
  return connected
}

async function newTab(): Promise<Tab> {
  const context = await openWindow(await browser())
  return { context, page: await context.newPage() }
}

/** Removes what the next test could see. `context.setStorageState()` would open a page and empty the cache for that. */
async function clean({ context, page }: Tab): Promise<void> {
  page.removeAllListeners()
  await page.unrouteAll()
  await page.evaluate('localStorage.clear(); sessionStorage.clear()')
  await page.goto('about:blank')
  await context.clearCookies()
  await context.clearPermissions()
}

/** Opens a page that no other test uses meanwhile. The test fails if the console shows an error or a warning. */
export async function openPage(options: PageOptions = {}): Promise<OpenPage> {
  const { theme, width, mayComplain, fresh = false } = { ...DEFAULT_LOOK, ...options }
  const tab = (fresh ? undefined : idle.pop()) ?? (await newTab())
  const { context, page } = tab
  const complaints: string[] = []
  const asked: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => asked.push(request.url()))
  onTestFinished(async () => {
    const reusable = !fresh && !page.isClosed()
    await (reusable ? clean(tab) : context.close())
    if (reusable) idle.push(tab)
    expect(complaints.filter((text) => mayComplain?.test(text) !== true)).toEqual([])
  })
  let look: Required<WindowOptions>
  const show = async (next: Required<WindowOptions>): Promise<void> => {
    look = next
    await page.emulateMedia({ colorScheme: look.theme })
    await page.setViewportSize(viewport(look.width))
  }
  const at = () => `${look.theme} at ${look.width}`
  const violations = async (): Promise<string[]> => {
    if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE)
    const found: Findings = await page.evaluate(`axe.run(document, ${JSON.stringify(AXE_OPTIONS)})`)
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }
  const checkWidth = async (): Promise<void> => expect(await page.evaluate(OVERFLOW), at()).toEqual([0, 0])
  const picture = async (name: string): Promise<void> => {
    if (process.env.TOOLYARD_TEST_PICTURES === undefined) return
    mkdirSync(PICTURES, { recursive: true })
    await page.screenshot({ path: `${PICTURES}${name}-${look.theme}-${look.width}.png`, fullPage: true })
  }
  await show({ theme, width })
  return {
    page,
    context,
    asked,
    violations,
    checkWidth,
    picture,
    async checkLooks(name) {
      for (const next of LOOKS) {
        await show(next)
        await atRest(page)
        // Axe is the longest part of a look.
        if (FULL || next === DEFAULT_LOOK) expect(await violations(), at()).toEqual([])
        await checkWidth()
        await picture(name)
      }
    },
  }
}
