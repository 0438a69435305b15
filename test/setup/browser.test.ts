import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { findChromium, NO_CHROMIUM } from '../../scripts/find-chromium.js'

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47])

test('a real Chromium opens a page on loopback, reads its title, takes its picture and is gone afterwards', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<title>Toolyard here</title><h1>Hello</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo

  const executablePath = await findChromium()
  if (executablePath === undefined) throw new Error(NO_CHROMIUM)
  const browserServer = await chromium.launchServer({ executablePath, host: '127.0.0.1' })
  onTestFinished(() => browserServer.kill())
  const pid = browserServer.process().pid ?? 0

  const browser = await chromium.connect(browserServer.wsEndpoint())
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${port}/`)
  expect(await page.title()).toBe('Toolyard here')
  expect((await page.screenshot()).subarray(0, 4)).toEqual(PNG)

  await browser.close()
  await browserServer.close()
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})
