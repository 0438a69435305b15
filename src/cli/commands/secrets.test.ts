import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { captureIo, toolyard } from '../fixtures/toolyard.ts'
import { main } from '../main.ts'

const [OLD, NEW] = ['o'.repeat(43), 'n'.repeat(43)]
const VALUE = 'a value that nobody sees'

test('stores, lists, uses, re-encrypts and removes secrets', async () => {
  const entry = { url: 'http://127.0.0.1:9/mcp', headers: { authorization: '${secret:CLI_TOKEN}' } }
  const { file, data } = await installationFolder({ mcpServers: { x: entry } })
  const run = (keys: string | undefined, words: readonly string[], stdin = '') =>
    toolyard(words, {
      ...{ stdin, cwd: dirname(file) },
      env: { TOOLYARD_DATA: data, ...(keys !== undefined && { TOOLYARD_ENCRYPTION_KEY: keys }) },
    })
  expect((await run(undefined, ['secrets', 'list'])).err).toBe('There are no secrets.\n')
  const refused = await run(undefined, ['secrets', 'set', 'CLI_TOKEN'], VALUE)
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('set TOOLYARD_ENCRYPTION_KEY')])

  // Servers without the secret are left out, and `check` says why.
  expect((await run(OLD, ['check'])).out).toContain('The secret CLI_TOKEN is not stored')
  const stored = await run(OLD, ['secrets', 'set', 'CLI_TOKEN'], `${VALUE}\n`)
  expect([stored.code, stored.out]).toEqual([
    0,
    'Stored CLI_TOKEN. Refer to it as "${secret:CLI_TOKEN}" in the configuration.\n',
  ])
  expect((await run(OLD, ['secrets', 'list'])).out).toBe('CLI_TOKEN\n')
  expect(JSON.parse((await run(OLD, ['secrets', 'list', '--json'])).out)).toEqual({ secrets: [{ name: 'CLI_TOKEN' }] })
  expect((await run(OLD, ['check'])).out).not.toContain('is not stored')
  const audit = await run(OLD, ['audit', 'list', '--json', '--type', 'event', '--tenant', '*'])
  expect(audit.out).toContain('secret.set')
  expect(audit.out).not.toContain(VALUE)

  expect((await run(NEW, ['storage', 'rotate-key'])).code).toBe(1)
  expect((await run(`${NEW},${OLD}`, ['storage', 'rotate-key'])).out).toBe('Encrypted 1 text with the first key.\n')
  expect((await run(NEW, ['storage', 'rotate-key'])).out).toBe('Encrypted 0 texts with the first key.\n')

  expect((await run(NEW, ['secrets', 'remove', 'CLI_TOKEN'])).out).toBe('Removed CLI_TOKEN\n')
  const gone = await run(NEW, ['secrets', 'remove', 'CLI_TOKEN'])
  expect([gone.code, gone.err]).toEqual([2, expect.stringContaining("There is no secret 'CLI_TOKEN'")])
})

test('refuses names and values that it cannot store', async () => {
  const { file, data } = await installationFolder()
  const env = { TOOLYARD_DATA: data, TOOLYARD_ENCRYPTION_KEY: OLD }
  const set = (name: string, stdin: string) => toolyard(['secrets', 'set', name], { stdin, env, cwd: dirname(file) })
  expect((await set('../x', 'value')).err).toContain('is not a name for a secret')
  expect((await set('X', ' \n')).err).toContain('is empty')
  expect((await set('X', 'x'.repeat(70_000))).err).toContain('longer than 64 KB')
  const { io, written } = captureIo({ env, cwd: dirname(file) })
  const stdin = Object.assign(io.stdin, { isTTY: true })
  expect(await main(['secrets', 'set', 'X'], { ...io, stdin })).toBe(2)
  expect(written.err).toContain('Give the value on stdin')
})
