import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../core/environment.ts'
import { frame, openaiChatFrames } from '../../models/fixtures/wire-frames.ts'
import { openTestServer } from '../fixtures/open-server.ts'

const KEY = 'the-right-key-4711'
const WRONG = 'a-wrong-key-0815'

/** A provider with the chat API of OpenAI that accepts one key. */
async function openProvider() {
  const keys: (string | undefined)[] = []
  const { start, text, finish } = openaiChatFrames
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization)
    if (request.headers.authorization === `Bearer ${KEY}`) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end([...start, ...text('OK'), ...finish('stop')].join(''))
      return
    }
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: `Incorrect key: ${request.headers.authorization}` } }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys }
}

async function openSetup(config: Config = {}, more: Environment = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-setup-models-'))
  const file = join(folder, 'toolyard.config.json')
  const before = JSON.stringify({ tools: { enabled: true }, ...config })
  await writeFile(file, before)
  const env = { TOOLYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), ...more }
  const server = await openTestServer({}, { file, local: true, env })
  onTestFinished(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const ask = async (path: string, body?: object, key?: string) => {
    const response = await fetch(server.url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { ...(body && { 'content-type': 'application/json' }), ...(key && { 'x-api-key': key }) },
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const tested = (body: object, key?: string) => ask('/api/setup/models/test', body, key)
  const rows = async (key?: string) => {
    await server.installation.sink.flush()
    const { body } = await ask('/audit?type=event&limit=100&tenant=*', undefined, key)
    const all = body.rows as { event: string; outcome: string; subject: string; detail: string }[]
    return all.filter(({ event }) => event === 'model.tested')
  }
  const owner = () => server.key('acme', 'admin', ['read', 'observe', 'installation'])
  return { ...server, tested, rows, owner, unchanged: async () => (await readFile(file, 'utf8')) === before }
}

const office = (base_url: string, api_key: object | null = { secret: { name: 'OFFICE_KEY', value: KEY } }) => ({
  ...{ name: 'office', type: 'openai', base_url, ...(api_key && { api_key }), models: [{ id: 'small' }] },
})
const withKey = (value: string) => ({ secret: { name: 'OFFICE_KEY', value } })

test('tests a right and a wrong key, stores neither, and records both tests without them', async () => {
  const { url, keys } = await openProvider()
  const { tested, rows, unchanged, installation } = await openSetup()
  const good = await tested(office(url))
  expect(good).toEqual({ status: 200, body: { ok: true, ms: expect.any(Number), answer: 'OK' } })
  const bad = await tested(office(url, withKey(WRONG)))
  const error = 'The provider refuses the key. Check that it is complete and still valid.'
  expect(bad).toEqual({ status: 200, body: { ok: false, ms: expect.any(Number), error } })
  expect(keys).toEqual([`Bearer ${KEY}`, `Bearer ${WRONG}`])
  expect((await tested(office(url, null))).body.error).toBe('The provider requires a key. Enter one.')
  expect([await unchanged(), await installation.secrets.names()]).toEqual([true, []])
  const recorded = await rows()
  expect(recorded.map(({ outcome }) => outcome)).toEqual(['failure', 'failure', 'success'])
  expect(recorded[2]).toMatchObject({ subject: 'office:small', detail: expect.stringContaining(new URL(url).host) })
  expect(JSON.stringify(recorded)).not.toMatch(/4711|0815/)
})

test('tests with a variable, and with what the server has for a provider', async () => {
  const { url, keys } = await openProvider()
  const providers = { office: { type: 'openai', base_url: url, api_key: '${OFFICE}' } }
  const { tested } = await openSetup({ providers }, { OFFICE: KEY })
  const variable = { ...office(url, { variable: 'OFFICE' }), name: 'other' }
  expect((await tested(variable)).body).toMatchObject({ ok: true })
  expect((await tested({ name: 'office', models: [{ id: 'large' }] })).body).toMatchObject({ ok: true })
  expect(keys).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`])
  const unset = { ...office(url, { variable: 'UNSET' }), name: 'other' }
  expect((await tested(unset)).body).toMatchObject({ ok: false, error: expect.stringContaining('UNSET is not set') })
  expect((await tested({ name: 'openai', models: [{ id: 'x' }] })).body).toMatchObject({
    ok: false,
    error: expect.stringContaining('OPENAI_API_KEY is not set'),
  })
})

test('refuses what could not be added, and models that run on this server', async () => {
  const { url, keys } = await openProvider()
  const providers = { office: { type: 'openai', base_url: url, api_key: KEY } }
  const { tested, rows } = await openSetup({ providers })
  const elsewhere = await tested({ name: 'office', base_url: 'https://192.0.2.1/v1', models: [{ id: 'x' }] })
  expect([elsewhere.status, elsewhere.body.error]).toEqual([422, expect.stringContaining('already a provider office')])
  expect((await tested({ ...office(url, withKey('')), name: 'other' })).body.error).toContain('OFFICE_KEY is empty')
  expect((await tested({ name: 'mini', models: [{ id: 'v1' }] })).body.error).toContain('run on this server')
  expect((await tested({ ...office('${secret:PLACE}'), name: 'other' })).status).toBe(422)
  for (const models of [[], [{ id: 'a' }, { id: 'b' }], undefined]) {
    expect((await tested({ ...office(url), models })).status).toBe(400)
  }
  expect(keys).toEqual([])
  expect((await rows()).map(({ detail }) => JSON.parse(detail).refused)).toEqual([422, 422, 422, 422])
})

describe('on a server with keys', () => {
  test('needs the scope installation', async () => {
    const { url, keys } = await openProvider()
    const { tested, key, owner } = await openSetup({ http: { allow_private: ['127.0.0.1'] } })
    const [admin, whole] = [await key('acme', 'admin'), await owner()]
    expect((await tested(office(url))).status).toBe(401)
    expect((await tested(office(url), admin)).status).toBe(403)
    expect(keys).toEqual([])
    expect((await tested(office(url), whole)).body).toMatchObject({ ok: true, answer: 'OK' })
  })

  test('sends nothing to private addresses, and no variable that the operator does not allow', async () => {
    const { url, keys } = await openProvider()
    const variables = { page: { variables: ['PLACE'] } }
    const { tested, rows, owner } = await openSetup(variables, { OTHER: KEY, OPENAI_API_KEY: KEY, PLACE: url })
    const whole = await owner()
    for (const address of [url, url.replace('127.0.0.1', 'localhost'), 'http://169.254.169.254/v1', '${PLACE}']) {
      const { status, body } = await tested(office(address), whole)
      expect([status, body.error]).toEqual([422, expect.stringContaining('http.allow_private')])
    }
    for (const variable of ['OTHER', 'OPENAI_API_KEY', 'TOOLYARD_ENCRYPTION_KEY']) {
      const { status, body } = await tested(office('https://192.0.2.1/v1', { variable }), whole)
      expect([status, body.error]).toEqual([422, expect.stringContaining(`The variable ${variable} can't be used`)])
    }
    expect(keys).toEqual([])
    expect(await rows(whole)).toHaveLength(7)
    expect(JSON.stringify(await rows(whole))).not.toContain(KEY)
  })

  test('follows no redirect to a private address', async () => {
    const asked: string[] = []
    const hidden = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end(frame({}))
    })
    hidden.listen(0, '127.0.0.2')
    await once(hidden, 'listening')
    const target = `http://127.0.0.2:${(hidden.address() as AddressInfo).port}/`
    const provider = createServer((_, response) => response.writeHead(307, { location: target }).end())
    provider.listen(0, '127.0.0.1')
    await once(provider, 'listening')
    onTestFinished(() => void [hidden.close(), provider.close()])
    const { tested, owner } = await openSetup({ http: { allow_private: ['127.0.0.1'] } })
    const { body } = await tested(office(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`), await owner())
    expect(body).toMatchObject({ ok: false })
    expect(asked).toEqual([])
  })

  test('uses a private address that the operator configured', async () => {
    const { url, keys } = await openProvider()
    const providers = { office: { type: 'openai', base_url: url, api_key: KEY } }
    const { tested, owner } = await openSetup({ providers })
    expect((await tested({ name: 'office', models: [{ id: 'large' }] }, await owner())).body).toMatchObject({
      ok: true,
    })
    expect(keys).toEqual([`Bearer ${KEY}`])
  })
})
