import {
  type Browser,
  type BrowserContext,
  chromium,
  type LaunchOptions,
  type Page,
  type Request,
} from 'playwright-core'
import { findChromium, NO_CHROMIUM } from '../../scripts/find-chromium.js'

const DEADLINE_MS = 60_000
const BETWEEN_PICTURES_MS = 150

/** The address bar's suggestions are web pages of their own: they take more CPU than the page under test. */
const ADDRESS_BAR = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup']

/** Chromium reads only the last --disable-features, so this repeats those of Playwright that matter here. */
const DISABLED_BY_PLAYWRIGHT = [
  'AimEnabled',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
]

export interface WindowOptions {
  readonly theme?: 'light' | 'dark'
  readonly width?: number
}

/** The requests of a context: how many it has made, and those in flight. */
interface Requests {
  made: number
  readonly inFlight: Set<Request>
}

const requestsOf = new WeakMap<BrowserContext, Requests>()

/** How to launch Chromium. Throws if there is none. */
export async function launchOptions(): Promise<LaunchOptions> {
  const executablePath = await findChromium()
  if (executablePath === undefined) throw new Error(NO_CHROMIUM)
  const disabled = [...DISABLED_BY_PLAYWRIGHT, ...ADDRESS_BAR].join(',')
  return { executablePath, args: [`--disable-features=${disabled}`] }
}

/** Launches a real Chromium. */
export const launchBrowser = async (): Promise<Browser> => chromium.launch(await launchOptions())

/** Opens an isolated context with reduced motion. */
export async function openWindow(browser: Browser, options: WindowOptions = {}): Promise<BrowserContext> {
  const { theme = 'light', width = 1_280 } = options
  const context = await browser.newContext({ colorScheme: theme, viewport: viewport(width), reducedMotion: 'reduce' })
  context.setDefaultTimeout(DEADLINE_MS)
  const requests: Requests = { made: 0, inFlight: new Set() }
  requestsOf.set(context, requests)
  context.on('request', (request) => {
    requests.made++
    // A navigation ends all requests of the document before it.
    if (request.isNavigationRequest()) requests.inFlight.clear()
    requests.inFlight.add(request)
  })
  context.on('requestfinished', (request) => requests.inFlight.delete(request))
  context.on('requestfailed', (request) => requests.inFlight.delete(request))
  return context
}

/** The size of a phone or of a desktop, by its width. */
export const viewport = (width: number) => ({ width, height: width < 500 ? 780 : 900 })

/** Whether nothing loads and nothing is animated after two frames. Chromium sometimes never calls an idle callback. */
const SETTLED = `new Promise((resolve) => {
  const look = () => resolve(
    document.querySelector('.moving') === null &&
    document.getAnimations().every(({ playState }) => playState !== 'running')
  )
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(look)))
})`

/** Waits until the page has no request in flight, makes no new one and has rendered everything. */
export async function atRest(page: Page): Promise<void> {
  const requests = requestsOf.get(page.context())
  if (requests === undefined) throw new Error('atRest() takes a page of openWindow()')
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const { made } = requests
    const settled = await page.evaluate(SETTLED)
    if (settled === true && requests.inFlight.size === 0 && requests.made === made) return
    if (Date.now() > deadline) throw new Error(`${page.url()} did not come to rest within ${DEADLINE_MS} ms`)
  }
}

/** Takes a picture of the viewport once everything is loaded and two pictures in a row are the same. */
export async function pictureAtRest(page: Page): Promise<Buffer> {
  await atRest(page)
  const deadline = Date.now() + DEADLINE_MS
  let last = await page.screenshot()
  while (Date.now() < deadline) {
    await page.waitForTimeout(BETWEEN_PICTURES_MS)
    const next = await page.screenshot()
    if (next.equals(last)) return next
    last = next
  }
  throw new Error(`${page.url()} did not come to rest within ${DEADLINE_MS} ms`)
}
