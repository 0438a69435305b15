import { connect, createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { FULL } from '../setup/full.ts'
import { atRest } from './browser-window.ts'
import { openUsedServer } from './newcomer-server.ts'
import { openPage as open } from './open-browser.ts'
import { PAGES } from './page-list.ts'

const MOST_SCRIPT_BYTES = 250_000

let server: Awaited<ReturnType<typeof openUsedServer>>

beforeAll(async () => {
  server = await openUsedServer()
}, 180_000)
afterAll(() => server?.close())

const sizes = new Map<string, Promise<number>>()

/** The size of a script, which most pages share. The browser may have it in its cache. */
function gzippedSize(url: string): Promise<number> {
  const size = sizes.get(url) ?? fetch(url).then(async (response) => gzipSync(await response.bytes()).length)
  sizes.set(url, size)
  return size
}

describe.each(PAGES)('the page $name', ({ name, path, ready }) => {
  const load = async (page: Page): Promise<void> => {
    await page.goto(server.url + path(server))
    await page.getByText(ready).first().waitFor()
    await atRest(page)
  }

  test('passes axe, fits every width, and loads less than 250 kB of script, gzipped', async () => {
    const { page, checkLooks, checkWidth } = await open()
    const scripts = new Set<string>()
    page.on('request', (request) => {
      if (request.resourceType() === 'script') scripts.add(request.url())
    })
    await load(page)
    await checkLooks(name)
    // 640 is what is left of 1280 when everything is shown at twice the size.
    await page.setViewportSize({ width: 640, height: 900 })
    await atRest(page)
    await checkWidth()
    const bytes = (await Promise.all([...scripts].map(gzippedSize))).reduce((sum, size) => sum + size, 0)
    console.info(`${name}: ${(bytes / 1_000).toFixed(1)} kB of script in ${scripts.size} files`)
    expect(scripts.size).toBeGreaterThan(2)
    expect(bytes).toBeLessThan(MOST_SCRIPT_BYTES)
  })

  test.runIf(FULL)('passes axe and fits when it is loaded in dark at 360', async () => {
    const { page, violations, checkWidth } = await open({ theme: 'dark', width: 360 })
    await load(page)
    expect(await violations()).toEqual([])
    await checkWidth()
  })
})

test.runIf(FULL)('remembers the chosen theme after a reload', async () => {
  const { page } = await open({ theme: 'light' })
  const theme = () => page.evaluate('document.documentElement.dataset.theme')
  await page.goto(server.url)
  expect(await theme()).toBe('light')
  await page.getByRole('button', { name: 'Switch to dark' }).click()
  expect(await theme()).toBe('dark')
  await page.reload()
  await page.getByRole('button', { name: 'Switch to light' }).waitFor()
  expect(await theme()).toBe('dark')
})

test('reaches a tool with the keyboard alone and moves the focus to it', async () => {
  const { page } = await open()
  await page.goto(server.url)
  await page.getByText('calculate').first().waitFor()
  await atRest(page)
  const focused = () => page.evaluate('document.activeElement.textContent')
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Skip to the content')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')
  await page.keyboard.press('Tab')
  await expect.poll(focused).toBe('Add tools')
  await page.keyboard.press('Tab')
  await page.keyboard.type('weather')
  await expect.poll(() => page.getByRole('listitem').count()).toBe(1)
  for (let step = 0; step < 4; step++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'get_weather' }).waitFor()
  expect(await page.evaluate('document.activeElement.id')).toBe('main')
  expect(await page.title()).toBe('get_weather · Toolyard')
})

test('never hides the focus behind the header on the way back', async () => {
  const { page } = await open()
  await page.setViewportSize({ width: 1280, height: 600 })
  await page.goto(`${server.url}/settings`)
  await page.getByRole('heading', { name: 'Roles' }).waitFor()
  const hidden: unknown[] = []
  for (let step = 0; step < 40; step++) {
    await page.keyboard.press('Shift+Tab')
    const place = (await page.evaluate(`(() => {
      const one = document.activeElement
      const bottom = document.querySelector('header').getBoundingClientRect().bottom
      return { name: one.textContent || one.id, isIn: one.closest('main') !== null, over: bottom - one.getBoundingClientRect().top }
    })()`)) as { readonly name: string; readonly isIn: boolean; readonly over: number }
    if (place.isIn && place.over > 0) hidden.push(place)
  }
  expect(hidden).toEqual([])
})

test.runIf(FULL)('reports an unknown tool', async () => {
  const { page } = await open({ mayComplain: /404/ })
  await page.goto(`${server.url}/tool/no_such_tool`)
  await page.getByRole('alert').getByText("Tool 'no_such_tool' not found").waitFor()
})

test('reports a lost server, retries with growing pauses and recovers', async () => {
  const door = await openDoor(Number(new URL(server.url).port))
  onTestFinished(() => door.close())
  const { page, asked } = await open({ mayComplain: /ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET/, fresh: true })
  await page.clock.install()
  await page.goto(door.url)
  await page.getByText('calculate').first().waitFor()
  await door.close()
  await page.getByRole('link', { name: 'get_weather' }).click()
  const place = await page.getByRole('main').boundingBox()
  await page.getByText('The server does not answer.').waitFor()
  expect((await page.getByRole('main').boundingBox())?.y).toBe(place?.y)
  const before = asked.length
  await page.clock.runFor(4_000)
  // After one second, two and four: a page that asked in a loop would have asked hundreds of times.
  expect(asked.length - before).toBeLessThanOrEqual(4)
  await door.open()
  await page.clock.fastForward(30_000)
  await page.getByText('The unit of the temperature.').first().waitFor()
  expect(await page.getByText('The server does not answer.').count()).toBe(0)
})

/** A way to a server that can be shut, and opened again at the same port. */
async function openDoor(to: number) {
  const sockets = new Set<Socket>()
  let listener: Server | undefined
  let port = 0
  const open = async () => {
    const made = createServer((socket) => {
      const behind = connect(to, '127.0.0.1')
      for (const one of [socket, behind]) {
        sockets.add(one)
        one.on('error', () => {}).on('close', () => sockets.delete(one))
      }
      socket.pipe(behind).pipe(socket)
    })
    await new Promise<void>((resolve) => made.listen(port, '127.0.0.1', resolve))
    port = (made.address() as { port: number }).port
    listener = made
  }
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    const shut = listener
    listener = undefined
    if (shut !== undefined) await new Promise((resolve) => shut.close(resolve))
  }
  await open()
  return { url: `http://127.0.0.1:${port}`, open, close }
}
