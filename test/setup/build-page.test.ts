import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const PROGRAM = `
  const { buildPage } = await import(${JSON.stringify(new URL('../../scripts/setup/build-page.js', import.meta.url).href)})
  await buildPage(process.cwd()).catch((error) => {
    console.error(error.message)
    process.exit(1)
  })
`

/** Stands for the builder: it notes that it was at work, and leaves a page. */
const BUILDER = `
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs')
  appendFileSync('../builds', 'x')
  const text = readFileSync('src/page.txt', 'utf8')
  if (text === 'bad') { console.error('src/page.txt: this is bad'); process.exit(1) }
  mkdirSync('dist', { recursive: true })
  writeFileSync('dist/index.html', text)
`

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolyard-build-'))
  write('web/package.json', '{}')
  write('web/src/page.txt', 'one')
  write('web/node_modules/vite/package.json', '{ "type": "commonjs" }')
  write('web/node_modules/vite/bin/vite.js', BUILDER)
  mkdirSync(join(root, 'node_modules/node/bin'), { recursive: true })
  symlinkSync(process.execPath, join(root, 'node_modules/node/bin/node'))
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const builds = (): number => (existsSync(join(root, 'builds')) ? read('builds').length : 0)

function setUp(): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], { cwd: root })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, printed })))
}

test('the page is built once, and again when something of it has changed, was added or is missing', async () => {
  expect(await setUp()).toMatchObject({ code: 0, printed: expect.stringContaining('Built in') })
  expect(await setUp()).toEqual({ code: 0, printed: '' })
  expect(builds()).toBe(1)
  write('web/src/page.txt', 'two')
  await setUp()
  expect([builds(), read('web/dist/index.html')]).toEqual([2, 'two'])
  write('web/src/deep/new.txt', '')
  await setUp()
  expect(builds()).toBe(3)
  rmSync(join(root, 'web/dist'), { recursive: true })
  await setUp()
  expect(builds()).toBe(4)
  write('web/node_modules/other.txt', '')
  await setUp()
  expect(builds()).toBe(4)
})

test('of two set-ups at once one builds, the other waits for it', async () => {
  const both = await Promise.all([setUp(), setUp()])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(builds()).toBe(1)
})

test('where the build fails its last lines are shown, the command fails and the next one tries again', async () => {
  write('web/src/page.txt', 'bad')
  const { code, printed } = await setUp()
  expect(code).toBe(1)
  expect(printed).toContain('The page could not be built. It ended with:\n\nsrc/page.txt: this is bad')
  write('web/src/page.txt', 'good')
  expect((await setUp()).code).toBe(0)
  expect(read('web/dist/index.html')).toBe('good')
})
