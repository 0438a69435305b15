import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { browse } from '../../../mcp/oauth/fixtures/authorization-server.ts'
import { oauthYard } from '../../../mcp/oauth/fixtures/oauth-yard.ts'
import { BIN, captureIo, emptyFolder, toolyard } from '../../fixtures/toolyard.ts'
import { main } from '../../main.ts'

afterAll(emptyFolder)

/** A configuration with a server that wants authorization, and others that are not logged in to. */
async function yardWithConfig(allow_private: readonly string[] = ['127.0.0.1']) {
  const yard = await oauthYard()
  const file = join(yard.folder, 'toolyard.config.json')
  const mcpServers = {
    web: { url: yard.one.url },
    keyed: { url: yard.one.url, headers: { Authorization: 'Bearer mine' } },
    local: { command: BIN },
  }
  await writeFile(file, JSON.stringify({ tools: { enabled: true, registry: [] }, http: { allow_private }, mcpServers }))
  const run = (...words: string[]) =>
    toolyard(['--config', file, 'mcp', ...words], { env: { TOOLYARD_DATA: yard.folder } })
  return { ...yard, config: file, run }
}

test('without a terminal prints the URL, and takes the redirect as an argument', async () => {
  const yard = await yardWithConfig()
  const asked = await yard.run('login', 'web')
  const { address = '', redirect_url } = (await yard.entry(yard.one)).pending ?? {}
  expect(asked).toMatchObject({ code: 1, out: '' })
  expect(asked.err).toContain('requires authorization. Open this URL:')
  expect(asked.err).toContain(`\n${address}\n`)
  const json = await yard.run('login', 'web', '--json')
  expect(JSON.parse(json.out)).toMatchObject({ success: false, address })
  const called = await yard.run('call', 'web', 'echo', 'text=hi')
  expect(called.code).toBe(1)
  expect(called.err + called.out).toContain('toolyard mcp login web')
  const answer = (await browse(address, redirect_url)).address
  expect(await yard.run('login', 'web', answer)).toEqual({ code: 0, out: 'Logged in to web.\n', err: '' })
  expect(await yard.run('login', 'web')).toEqual({ code: 0, out: 'Already logged in to web.\n', err: '' })
  expect((await yard.run('call', 'web', 'echo', 'text=hi')).out).toBe('said hi\n')
  expect((await yard.run('logout', 'web')).out).toBe('Logged out of web.\n')
  expect((await yard.entry(yard.one)).tokens).toBeUndefined()
})

test('asks no authorization server at a private address that the configuration does not allow', async () => {
  const { run, authority } = await yardWithConfig([])
  const refused = await run('login', 'web')
  expect(refused.code).toBe(1)
  expect(refused.err).toContain("The host '127.0.0.1' was refused: it is a loopback address")
  expect(refused.err).toContain('add "127.0.0.1" to http.allow_private')
  expect(authority.requests).toEqual([])
})

test.each([
  ['local', 'is a local program'],
  ['keyed', 'already has an Authorization header: remove it from mcpServers.keyed.headers'],
  ['wbe', 'Did you mean web?'],
])('%s cannot be logged in to', async (server, problem) => {
  const { run } = await yardWithConfig()
  const { code, err } = await run('login', server)
  expect(code).toBe(2)
  expect(err).toContain(problem)
})

test('on a terminal shows the URL and waits for the browser', async () => {
  const yard = await yardWithConfig()
  const { io, written } = captureIo({ watched: true, env: { TOOLYARD_DATA: yard.folder } })
  const login = main(['mcp', 'login', 'web', '--config', yard.config], io)
  await expect.poll(() => written.err).toMatch(/http\S+/)
  await browse(/http\S+/.exec(written.err)?.[0] ?? '')
  expect(await login).toBe(0)
  expect(written.out).toBe('Logged in to web.\n')
  expect((await yard.entry(yard.one)).tokens).toBeDefined()
})
