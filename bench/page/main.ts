import type { Locator } from 'playwright-core'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { call } from '../../src/storage/fixtures/call-entry.ts'
import { launchBrowser, openWindow } from '../../test/browser/browser-window.ts'
import { manyTools } from '../../test/browser/shipped-config.ts'

/** The time from an interaction with the page to the next paint, with long lists. */
const TOOLS = 5_000
const CALLS = 100_000
const BATCH = 5_000
const ROUNDS = 7
const HIGHEST_MS = 100

const server = await openTestServer({ tools: { enabled: true, registry: manyTools(TOOLS) } }, { local: true })
for (let done = 0; done < CALLS; done += BATCH) {
  const entries = Array.from({ length: BATCH }, (_, index) =>
    call({
      at: Date.now() - (done + index) * 500,
      tenant: 'local',
      caller: 'local',
      tool: `tool_${String((done + index) % TOOLS).padStart(4, '0')}`,
      code: index % 50 === 0 ? 'TIMEOUT' : null,
      durationMs: index % 400,
    }),
  )
  await server.installation.storage.ledger.append(entries, [])
}

const browser = await launchBrowser()
const context = await openWindow(browser)
const page = await context.newPage()
/** Event Timing: from the input to the paint that shows its effect, in steps of 8 ms. */
const WATCH = `globalThis.slowest = 0; new PerformanceObserver((list) => {
  for (const { interactionId, duration } of list.getEntries()) if (interactionId > 0) slowest = Math.max(slowest, duration)
}).observe({ type: 'event', durationThreshold: 16, buffered: false })`
const FRAMES = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))))`

const devtools = await context.newCDPSession(page)
// The time that the page's thread has computed: other programs on the machine don't count.
await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
async function computedMs(): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
}

async function measure(name: string, path: string, ready: string, act: () => Promise<number>): Promise<boolean> {
  const times: number[] = []
  const computed: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto(server.url + path)
    await page.getByText(ready).first().waitFor()
    await page.evaluate(WATCH)
    const before = await computedMs()
    const keys = await act()
    await page.evaluate(FRAMES)
    computed.push(((await computedMs()) - before) / keys)
    times.push(Number(await page.evaluate('slowest')))
  }
  const median = (all: number[]) => all.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0
  const [paint, cpu] = [median(times), median(computed)]
  // Interactions below the threshold of the observer are not reported.
  const painted = `median ${paint === 0 ? '< 16' : paint} ms, slowest ${times.at(-1)} ms to the paint`
  console.info(`${name}: ${painted}; ${cpu.toFixed(1)} ms of CPU per key`)
  return paint < HIGHEST_MS
}

/** Types a text, and says how many keys that are. */
async function type(field: Locator, text: string): Promise<number> {
  await field.pressSequentially(text)
  return text.length
}

const good = [
  await measure('Search 5,000 tools', '/', 'tool_0001', () => type(page.getByRole('searchbox'), 'tool 1234')),
  await measure('Scroll 5,000 tools', '/', 'tool_0001', () => page.keyboard.press('End').then(() => 1)),
  await measure('Search the palette', '/', 'tool_0001', async () => {
    await page.keyboard.press('Control+k')
    return type(page.getByRole('combobox', { name: 'Go to' }), 'tol_4321')
  }),
  await measure('Choose among 5,000 tools', '/tools-testing', 'tool_0001', () =>
    type(page.getByRole('searchbox'), '4999'),
  ),
  await measure('Filter 100,000 calls', '/activity', 'tool_', () =>
    type(page.getByRole('searchbox').first(), 'tool_0042'),
  ),
]
await browser.close()
await server.close()
if (good.includes(false)) process.exitCode = 1
