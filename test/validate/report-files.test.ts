import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { findChromium, NO_CHROMIUM } from '../../scripts/find-chromium.js'
import type { ValidationReport } from '../../src/validation/reports/build-report.ts'
import { HOSTILE, hostileReport } from '../../src/validation/reports/fixtures/hostile-report.ts'
import { reportFormat } from '../../src/validation/reports/report-format.ts'

/** What is left of the hostile text where it is shown: what cannot be shown is written out. */
const SHOWN = HOSTILE.replaceAll('\u0000', '\\u0000')
  .replaceAll('\u001b', '\\u001b')
  .replaceAll('\ufffe', '\\ufffe')
  .replaceAll('\ud800', '\\ud800')

let browser: Browser
let folder = ''
let report: ValidationReport

beforeAll(async () => {
  const executablePath = await findChromium()
  if (executablePath === undefined) throw new Error(NO_CHROMIUM)
  browser = await chromium.launch({ executablePath })
  folder = await mkdtemp(join(tmpdir(), 'toolyard-report-'))
  report = await hostileReport(0.8)
})

afterAll(async () => {
  await browser?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Opens the page as a file, as people do; gives what the browser complained about and asked for. */
async function open(options: Parameters<Browser['newPage']>[0] = {}) {
  const file = join(folder, 'report.html')
  await writeFile(file, reportFormat(file)?.(report) ?? '')
  const page = await browser.newPage(options)
  onTestFinished(() => page.close())
  const complaints: string[] = []
  const requests: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => requests.push(request.url()))
  await page.goto(pathToFileURL(file).href)
  return { page, complaints, requests, url: pathToFileURL(file).href }
}

const visible = (page: Page) => page.locator('#list details:visible').count()
const failures = () => report.trials.filter(({ outcome }) => outcome !== 'passed').length

describe('the HTML report, in a real browser', () => {
  test('opens without a complaint, and asks for nothing but itself', async () => {
    const { page, complaints, requests, url } = await open()
    expect([complaints, requests]).toEqual([[], [url]])
    expect(await page.locator('h1').textContent()).toBe('Which model can use which tool')
    expect(await page.locator('table.matrix').count()).toBe(2)
    expect(await page.locator('table.matrix').first().locator('tbody tr').allTextContents()).toContain(
      'weather100% (2/2) ≥34%0% (0/2) ≥0%none judged, 2 not run',
    )
    expect(await page.locator('#gate').textContent()).toContain('Gate 0.8: missed by scripted:good in hand (0.3333)')
    expect(await page.locator('.remark').textContent()).toBe('second: Not comparable with <i>published</i> figures.')
  })

  test('what a model wrote is text: nothing of it runs, loads or changes the page', async () => {
    const { page, complaints, requests } = await open()
    const hostile = page.locator('#list details[data-model="scripted:wild"]').first()
    await hostile.locator('summary').click()
    expect(await hostile.locator('pre.expected, pre.actual').count()).toBe(2)
    expect(await hostile.textContent()).toContain(SHOWN.replaceAll('"', '\\"'))
    expect(await page.title()).toContain('Which model can use which tool')
    expect(await page.locator('script, style, img').count()).toBe(2)
    expect(await page.locator('h1').isVisible()).toBe(true)
    expect([complaints, requests.length]).toEqual([[], 1])
  })

  test('its policy lets no other script run, even one that got in', async () => {
    const { page } = await open()
    await page.evaluate(`
      const script = document.createElement('script')
      script.textContent = "document.title = 'owned'"
      document.body.append(script)
    `)
    expect(await page.title()).not.toBe('owned')
  })

  test('every failure is there, and the filters choose among them', async () => {
    const { page } = await open()
    const shown = () => page.locator('#shown').textContent()
    expect(await visible(page)).toBe(failures())
    await page.selectOption('select[name=model]', 'scripted:good')
    expect([await visible(page), await shown()]).toEqual([4, `4 of ${failures()} shown`])
    await page.selectOption('select[name=kind]', 'unwanted_call')
    expect(await visible(page)).toBe(2)
    await page.selectOption('select[name=tool]', 'mail')
    expect(await visible(page)).toBe(0)
    await page.click('button[type=reset]')
    await page.locator('#shown', { hasText: `${failures()} of ${failures()} shown` }).waitFor()
    await page.fill('input[name=text]', 'ASK ME LATER')
    expect(await visible(page)).toBe(4)
  })

  test('by keyboard: a field of the matrix shows its failures, and a failure opens', async () => {
    const { page } = await open()
    await page.locator('td button[data-model="scripted:good"][data-tool="mail"]').focus()
    await page.keyboard.press('Enter')
    expect(await visible(page)).toBe(2)
    expect(await page.evaluate('document.activeElement.id')).toBe('failures')
    await page.locator('#list details:visible summary').first().focus()
    await page.keyboard.press('Enter')
    expect(await page.locator('#list details:visible').first().getAttribute('open')).toBe('')
  })

  test('is light or dark as the reader is', async () => {
    const background = async (colorScheme: 'light' | 'dark') => {
      const { page } = await open({ colorScheme })
      return page.evaluate('getComputedStyle(document.body).backgroundColor')
    }
    expect([await background('light'), await background('dark')]).toEqual(['rgb(255, 255, 255)', 'rgb(13, 17, 23)'])
  })
})

describe('the JUnit report, read by a real parser', () => {
  interface Found {
    readonly fault: string | undefined
    readonly totals: Record<string, string>
    readonly suites: readonly Record<string, string>[]
    readonly problems: readonly {
      readonly tag: string
      readonly type: string
      readonly message: string
      readonly text: string
    }[]
    readonly names: readonly string[]
  }

  /** Runs in the browser. */
  const READ = `(xml) => {
    const parsed = new DOMParser().parseFromString(xml, 'application/xml')
    const attributes = (element) => Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value]))
    return {
      fault: parsed.querySelector('parsererror')?.textContent,
      totals: attributes(parsed.documentElement),
      suites: [...parsed.querySelectorAll('testsuite')].map(attributes),
      names: [...parsed.querySelectorAll('testcase')].map((element) => element.getAttribute('name')),
      problems: [...parsed.querySelectorAll('failure, error')].map((element) => ({
        tag: element.tagName, ...attributes(element), text: element.textContent })),
    }
  }`

  test('is well formed whatever models wrote, and counts right', async () => {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    const xml = reportFormat('junit.xml')?.(report) ?? ''
    const found: Found = await page.evaluate(`(${READ})(${JSON.stringify(xml)})`)
    expect(found.fault).toBeUndefined()
    expect(found.totals).toMatchObject({ tests: '24', failures: '8', errors: '4', skipped: '8' })
    expect(found.suites).toHaveLength(6)
    expect(found.suites[0]).toMatchObject({ name: 'hand scripted:good', tests: '6', failures: '4', errors: '0' })
    expect(found.names).toContain('mail <b>1</b> (2)')
    const wild = found.problems.find(({ type, message }) => type === 'wrong_tool' && message.includes('owned'))
    expect(wild?.message).toContain(SHOWN)
    expect(wild?.text).toContain('Expected: {"tool":"mail"}')
    expect(found.problems.filter(({ tag }) => tag === 'error').map(({ message }) => message)).toEqual(
      new Array(4).fill('Ask me later'),
    )
  })
})
