import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { FULL } from '../setup/full.ts'
import { unfoldCalls } from './choose-model.ts'
import { openPage as open } from './open-browser.ts'

vi.setConfig({ testTimeout: 200_000, hookTimeout: 60_000 })

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A busy machine may take its time to load the model. */
const ANSWER_MS = 60_000

let folder: string
let server: ChildProcess
let url: string

/** What `npm start` runs, on a machine that has nothing yet: no home, no data, no key. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-newcomer-'))
  const { PATH = '', NODE_COMPILE_CACHE: cache } = process.env
  const env = {
    PATH,
    HOME: folder,
    TOOLYARD_DATA: join(folder, 'data'),
    TOOLYARD_LOG: 'warn',
    ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
  }
  server = spawn(process.execPath, ['bin/toolyard.js', 'serve', '--port', '0', '--json'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [started] = (await once(server.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  url = JSON.parse(started.toString()).url
})
afterAll(async () => {
  server.kill('SIGTERM')
  if (server.exitCode === null) await once(server, 'exit')
  await rm(folder, { recursive: true, force: true })
})

async function openTesting() {
  const opened = await open()
  await opened.page.goto(`${url}/tools-testing`)
  // Nobody has to choose the only model that there is.
  await opened.page
    .getByRole('combobox', { name: /Select Model/ })
    .getByText('Mini')
    .waitFor()
  return opened
}

/** Runs what stands in the field until this sentence is said, with these calls. */
async function ask(page: Page, sentence: RegExp, calls: readonly RegExp[]): Promise<void> {
  await page.getByRole('button', { name: 'Run Test' }).click()
  const results = page.getByRole('region', { name: 'Test Results' })
  await results.getByRole('paragraph').filter({ hasText: sentence }).waitFor({ timeout: ANSWER_MS })
  await unfoldCalls(page)
  const made = results.getByRole('list', { name: 'Calls of turn 1' }).getByRole('article')
  await expect.poll(() => made.allTextContents()).toEqual(calls.map((call) => expect.stringMatching(call)))
}

test.runIf(FULL)('answers typical first queries with the right calls and a sentence', async () => {
  const { page, picture } = await openTesting()
  const type = async (query: string, sentence: RegExp, ...calls: readonly RegExp[]) => {
    await page.getByRole('button', { name: 'New thread' }).click()
    await page.getByLabel('Test Query').fill(query)
    await ask(page, sentence, calls)
  }
  await type(
    'how hot is it in Cairo right now?',
    /^It's 22 °C and sunny in Cairo/,
    /get_weather.*location.*Cairo.*temperature/,
  )
  await type(
    'remind me what the docs say about error codes',
    /"error codes".*in reference\/errors\.md/,
    /search_documents.*query.*error codes/,
  )
  await type(
    'turn on the porch light',
    /^The porch light is on now\. In this simulated house/,
    /set_light.*light.*porch.*state.*on/,
  )
  await picture('newcomer-light')
})

test.runIf(FULL)('answers the examples of the page as described', async () => {
  const { page } = await openTesting()
  const choose = async (name: RegExp, sentence: RegExp, ...calls: readonly RegExp[]) => {
    await page.getByRole('button', { name: 'New thread' }).click()
    await page.getByRole('button', { name }).click()
    await ask(page, sentence, calls)
  }
  await choose(/Simple Tool Call/, /^It's 22 °C and sunny in Paris/, /get_weather.*location.*Paris/)
  await choose(/Calculator/, /^15% tip on \$45 is \$6\.75\./, /calculate.*expression.*45 \* 0\.15/)
  await choose(/Direct Answer Test/, /^2 \+ 2 is 4\./)
  await choose(/RAG Tool/, /nothing about "Python decorators"/, /search_documents.*query.*Python decorators/)
})
