import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findChromium, NO_CHROMIUM } from '../../scripts/find-chromium.js'

const DEADLINE_MS = 20_000
const BETWEEN_LOOKS_MS = 150
const QUIET_LOOKS = 4

export interface WindowOptions {
  readonly theme?: 'light' | 'dark'
  readonly width?: number
}

/** A real Chromium. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = await findChromium()
  if (executablePath === undefined) throw new Error(NO_CHROMIUM)
  return chromium.launch({ executablePath })
}

/** A window of its own, with nothing kept from another, in which nothing moves that need not. */
export async function openWindow(browser: Browser, options: WindowOptions = {}): Promise<BrowserContext> {
  const { theme = 'light', width = 1_280 } = options
  const viewport = { width, height: width < 500 ? 780 : 900 }
  const context = await browser.newContext({ colorScheme: theme, viewport, reducedMotion: 'reduce' })
  context.setDefaultTimeout(DEADLINE_MS)
  return context
}

/** Waits until the page waits for nothing any more, and has loaded nothing for a while. */
export async function atRest(page: Page): Promise<void> {
  const loaded = "document.querySelector('.moving') ? -1 : performance.getEntriesByType('resource').length"
  const deadline = Date.now() + DEADLINE_MS
  let last = -1
  for (let same = 0; same < QUIET_LOOKS; ) {
    if (Date.now() > deadline) throw new Error(`${page.url()} did not come to rest within ${DEADLINE_MS} ms`)
    await page.waitForTimeout(BETWEEN_LOOKS_MS)
    const now: number = await page.evaluate(loaded)
    same = now === last && now >= 0 ? same + 1 : 0
    last = now
  }
}

/** A picture of what is in sight, when all is loaded and two pictures in a row are the same. */
export async function pictureAtRest(page: Page): Promise<Buffer> {
  await atRest(page)
  const deadline = Date.now() + DEADLINE_MS
  let last = await page.screenshot()
  while (Date.now() < deadline) {
    await page.waitForTimeout(BETWEEN_LOOKS_MS)
    const next = await page.screenshot()
    if (next.equals(last)) return next
    last = next
  }
  throw new Error(`${page.url()} did not come to rest within ${DEADLINE_MS} ms`)
}
