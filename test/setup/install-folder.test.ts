import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'

const program = (more: readonly string[]): string => `
  const { installFolder } = await import(${JSON.stringify(new URL('../../scripts/setup/install-folder.js', import.meta.url).href)})
  await installFolder(process.cwd(), 'the test', () => {}, ${JSON.stringify(more)}).catch((error) => {
    console.error(error.message)
    process.exit(1)
  })
`

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolyard-install-'))
  mkdirSync(join(folder, 'left'))
  write('left/package.json', { name: 'left', version: '1.0.0' })
  write('package.json', { name: 'right', version: '1.0.0', dependencies: { left: 'file:left' } })
  write('package-lock.json', { name: 'right', version: '1.0.0', lockfileVersion: 3, requires: true, packages: {} })
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (path: string, content: unknown): void => writeFileSync(join(folder, path), JSON.stringify(content))

const isThere = (path: string): boolean => existsSync(join(folder, 'node_modules', path))

function start(more: readonly string[] = []): {
  kill(): void
  ended: Promise<{ code: number | null; printed: string }>
} {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program(more)], { cwd: folder })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text))
  const ended = new Promise<{ code: number | null; printed: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, printed }))
  })
  return { kill: () => void child.kill('SIGTERM'), ended }
}

test('packages are installed once, and again when the package file has changed', async () => {
  expect(await start().ended).toMatchObject({ code: 0, printed: expect.stringContaining('Installed in') })
  expect(isThere('left/package.json')).toBe(true)
  expect(await start().ended).toEqual({ code: 0, printed: '' })
  write('package.json', { name: 'right', version: '1.0.1', dependencies: { left: 'file:left' } })
  expect((await start().ended).printed).toContain('Installed in')
})

test('what only this machine needs is installed with the rest, and the package file stays as it is', async () => {
  mkdirSync(join(folder, 'more'))
  write('more/package.json', { name: 'more', version: '1.0.0' })
  const before = readFileSync(join(folder, 'package.json'), 'utf8')
  const { code } = await start(['./more']).ended
  expect([code, isThere('left/package.json'), isThere('more/package.json')]).toEqual([0, true, true])
  expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(before)
})

test('of two set-ups at once one installs, the other waits for it', async () => {
  const [one, two] = await Promise.all([start().ended, start().ended])
  expect([one.code, two.code]).toEqual([0, 0])
  expect(`${one.printed}${two.printed}`.match(/Installed in/g)).toHaveLength(1)
})

test('what a cut-off set-up left behind is cleared before the next one installs', async () => {
  mkdirSync(join(folder, 'node_modules', 'half'), { recursive: true })
  write('node_modules/half/package.json', { name: 'half', version: '1.0.0' })
  write('node_modules/.toolyard-setup.lock', 'somebody who is gone')
  utimesSync(join(folder, 'node_modules/.toolyard-setup.lock'), new Date(0), new Date(0))
  expect(await start().ended).toMatchObject({ code: 0, printed: expect.stringContaining('cut off') })
  expect([isThere('half'), isThere('left'), isThere('.toolyard-setup.lock')]).toEqual([false, true, false])
})

test('a set-up that is told to stop stops with all it started, and the next one starts again', async () => {
  writeFileSync(
    join(folder, 'wait.cjs'),
    `const { writeFileSync } = require('node:fs')
    process.on('SIGTERM', () => { writeFileSync('told', ''); process.exit() })
    writeFileSync('started', '')
    setTimeout(() => {}, 30_000)`,
  )
  const slow = { name: 'right', version: '1.0.0', scripts: { postinstall: 'node wait.cjs' } }
  write('package.json', slow)
  const cutOff = start()
  while (!existsSync(join(folder, 'started'))) await sleep(20)
  cutOff.kill()
  expect((await cutOff.ended).code).toBe(1)
  expect(existsSync(join(folder, 'told'))).toBe(true)
  write('package.json', { ...slow, scripts: {} })
  expect((await start().ended).printed).toContain('cut off')
})

test('where npm fails, its last lines are shown, the command fails and the next one tries again', async () => {
  write('package.json', { name: 'right', version: '1.0.0', dependencies: { left: 'no such thing!' } })
  const { code, printed } = await start().ended
  expect(code).toBe(1)
  expect(printed).toMatch(/npm install failed in .*toolyard-install-.*It ended with:[\s\S]*left@no such thing!/)
  write('package.json', { name: 'right', version: '1.0.0', dependencies: { left: 'file:left' } })
  expect((await start().ended).code).toBe(0)
})
