import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { readMcpServers } from './mcp-settings.ts'

const FOLDER = '/work space/project'
const ED25519 = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' })
const read = (config: object, env: Record<string, string> = {}) =>
  readMcpServers(checkConfig(config, 'x.json'), env, FOLDER)
const one = (server: object, env: Record<string, string> = {}, more: object = {}) =>
  read({ mcpServers: { one: server }, ...more }, env)

describe('configurations of other clients', () => {
  test('Claude Desktop: a program', () => {
    const args = ['-y', '@modelcontextprotocol/server-filesystem', '/tmp']
    const { servers, skipped, warnings } = one({ command: 'npx', args, env: { DEBUG: '1', PORT: 3000, GONE: null } })
    const identity = expect.objectContaining({ command: 'npx', args })
    const reach = { type: 'stdio', command: 'npx', args, env: { DEBUG: '1', PORT: '3000' }, cwd: FOLDER }
    expect({ servers, skipped, warnings }).toEqual({
      servers: [{ name: 'one', reach, identity }],
      skipped: [],
      warnings: [],
    })
  })

  test.each([
    [undefined, 'auto'],
    ['http', 'http'],
    ['streamable-http', 'http'],
    ['streamableHttp', 'http'],
    ['sse', 'sse'],
  ])('Cursor: an address, of the type %j', (type, expected) => {
    const { servers } = one(
      { ...(type && { type }), url: 'https://x.example/mcp', headers: { Authorization: 'Bearer ${env:TOKEN}' } },
      { TOKEN: 't0k\n' },
    )
    const headers = { Authorization: 'Bearer t0k' }
    expect(servers).toEqual([
      {
        name: 'one',
        reach: { type: expected, url: 'https://x.example/mcp', headers, fetch: expect.any(Function) },
        identity: expect.objectContaining({ headers: { Authorization: '["Bearer ${env:TOKEN}",null]' } }),
      },
    ])
  })

  test('VS Code: servers and inputs, each input by a variable', () => {
    const config = {
      inputs: [{ type: 'promptString', id: 'api-key', description: 'Key of the shop', password: true }],
      servers: { shop: { type: 'stdio', command: 'shop', env: { KEY: '${input:api-key}' }, gallery: true } },
      mcpServers: { first: { command: 'first' } },
    }
    const set = read(config, { TOOLYARD_INPUT_API_KEY: 'k' })
    expect(set.servers.map(({ name }) => name)).toEqual(['first', 'shop'])
    expect(set.servers[1]?.reach).toMatchObject({ env: { KEY: 'k' } })
    const unset = read(config)
    expect(unset.servers.map(({ name }) => name)).toEqual(['first'])
    expect(unset.skipped).toEqual([
      {
        name: 'shop',
        problem:
          "servers.shop.env.KEY: The input 'api-key' (Key of the shop) can't be prompted for: set the environment variable TOOLYARD_INPUT_API_KEY instead",
      },
    ])
  })

  test.each([
    [{ timeout: 90_000 }, 90_000],
    [{ timeout: 1_000 }, 1_000],
    [{ timeout: 90_000, timeout_ms: 500 }, 500],
    [{ timeout: 60, timeout_ms: 60_000 }, 60_000],
    [{ timeout_ms: 1 }, 1],
    [{}, undefined],
  ])('reads the timeout of the tools: %j', (timeouts, expected) => {
    for (const reach of [{ command: 'x' }, { url: 'https://x.example/mcp' }]) {
      const { servers, warnings } = one({ ...reach, ...timeouts })
      expect(servers[0]?.timeoutMs).toBe(expected)
      expect(warnings).toEqual([])
    }
    expect(read({ servers: { one: { command: 'x', ...timeouts } } }).servers[0]?.timeoutMs).toBe(expected)
  })

  test.each([
    [60, '60 is ignored: it must be a number of milliseconds from 1000 to 2147483647, and some configurations write'],
    [999.5, '999.5 is ignored: it must be'],
    [0, '0 is ignored: it must be'],
    [-1, '-1 is ignored: it must be'],
    [3e9, '3000000000 is ignored: it must be'],
    [Number.NaN, 'NaN is ignored: it must be'],
    [Number.POSITIVE_INFINITY, 'Infinity is ignored: it must be'],
    ['60000', '"60000" is ignored: it must be'],
    [null, 'null is ignored: it must be'],
    [{ ms: 5 }, '{"ms":5} is ignored: it must be'],
  ])('ignores the timeout %j with a warning', (timeout, problem) => {
    const { servers, warnings } = one({ command: 'x', timeout })
    expect(servers[0]).not.toHaveProperty('timeoutMs')
    expect(warnings).toEqual([{ name: 'one', problem: expect.stringContaining(`mcpServers.one.timeout ${problem}`) }])
  })

  test('a timeout that looks like seconds is named in milliseconds, too', () => {
    expect(one({ command: 'x', timeout: 60 }).warnings[0]?.problem).toContain('Write "timeout_ms": 60000 for 60 s')
  })

  test.each([0, -1, 1.5, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, '500', null])(
    'refuses timeout_ms %j',
    (value) => {
      expect(() => one({ command: 'x', timeout_ms: value })).toThrow(/mcpServers\.one\.timeout_ms/)
    },
  )

  test('ignores keys of other clients, and warns about mistakes and unsupported keys', () => {
    const { servers, warnings } = one({
      command: 'x',
      alwaysAllow: ['a'],
      autoApprove: [],
      timeout: 60_000,
      _comment: 'mine',
      envFile: '.env',
      arg: [],
      disabledTools: ['rm'],
    })
    expect(servers).toHaveLength(1)
    expect(warnings.map(({ problem }) => problem)).toEqual([
      'mcpServers.one: envFile is not supported: list the variables under env',
      "mcpServers.one: unknown key 'arg' is ignored: did you mean 'args'?",
      expect.stringContaining("unknown key 'disabledTools' is ignored"),
    ])
  })

  test('leaves a disabled server out', () => {
    expect(one({ command: '${NOWHERE}', disabled: true })).toEqual({
      servers: [],
      skipped: [],
      warnings: [],
      disabled: ['one'],
    })
  })

  test("replaces characters that tool names don't allow", () => {
    const mcpServers = { 'Figma Dev Mode': { command: 'a' }, '@x/y.z_1': { command: 'b' } }
    expect(read({ mcpServers }).servers.map(({ name }) => name)).toEqual(['Figma-Dev-Mode', 'x-y.z_1'])
  })

  test('pin and check are passed on', () => {
    expect(one({ command: 'x', pin: true, check: 'the broker' }).servers).toMatchObject([
      { pin: true, check: 'the broker' },
    ])
  })
})

describe('variables', () => {
  test.each([
    ['${A}', 'a'],
    ['${env:A}-${B}', 'a-b'],
    ['${C:-c d}', 'c d'],
    ['${env:C:-c}', 'c'],
    ['${A:-c}', 'a'],
    ['${EMPTY:-c}', 'c'],
    ['${C:-}', ''],
    ['${workspaceFolder}/src', `${FOLDER}/src`],
    ['${workspaceFolderBasename}', 'project'],
    ['${userHome}${/}x', `${homedir()}/x`],
    ['$A ${1} ${A%%x} {A}', '$A ${1} ${A%%x} {A}'],
  ])('%j is %j', (text, expected) => {
    const { servers } = one({ command: text || 'x', args: [text], cwd: 'sub' }, { A: 'a', B: 'b\n', EMPTY: '' })
    expect(servers[0]?.reach).toMatchObject({ command: expected, args: [expected], cwd: `${FOLDER}/sub` })
  })

  test.each([
    [{ command: 'x', env: { T: '${TOKEN}' } }, 'mcpServers.one.env.T: The environment variable TOKEN is not set'],
    [{ command: 'x', args: ['a', '${env:TOKEN}'] }, 'mcpServers.one.args[1]: The environment variable TOKEN'],
    [{ url: 'https://${HOST}/mcp' }, 'mcpServers.one.url: The environment variable HOST is not set'],
    [{ command: 'x', cwd: '${constructor}' }, 'The environment variable constructor is not set'],
    [{ command: '${command:pick}' }, '${command:pick} works only in an editor'],
    [{ url: '${BAD}' }, 'mcpServers.one.url is not an http or https address: check the variables in it'],
    [{ url: 'http://x', headers: { A: '${LINES}' } }, 'mcpServers.one.headers.A contains an invalid character'],
  ])('skips only %j', (server, problem) => {
    const env = { BAD: 'file:///etc/passwd', LINES: 'secret\nvalue' }
    const { servers, skipped } = read({ mcpServers: { one: server, two: { command: 'x' } } }, env)
    expect(servers.map(({ name }) => name)).toEqual(['two'])
    expect(skipped).toEqual([{ name: 'one', problem: expect.stringContaining(problem) }])
    expect(JSON.stringify(skipped)).not.toMatch(/secret|passwd/)
  })

  test('warns about a literal secret without showing it', () => {
    const { warnings } = one({
      command: 'x',
      env: { API_KEY: 'sk-1234567890abcdef1234', PATH: '/bin', KEY: '${A:-b}' },
    })
    expect(warnings).toEqual([
      {
        name: 'one',
        problem: 'mcpServers.one.env.API_KEY contains a secret: put it into an environment variable',
      },
    ])
  })
})

describe('a registered client', () => {
  const url = 'https://x.example/mcp'
  const issuer = 'https://login.example'
  const pem = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({
    format: 'pem',
    type: 'pkcs8',
  })
  const env = { SECRET: 's3cret', KEY: String(pem), ED: String(ED25519) }

  test.each([
    [{ client_id: 'us' }, { clientId: 'us', isMachine: false }],
    [
      { client_id: 'us', client_secret: '${SECRET}', issuer },
      { clientId: 'us', clientSecret: 's3cret', issuer, isMachine: false },
    ],
    [
      { client_id: 'us', private_key: '${KEY}', issuer, grant_type: 'client_credentials' },
      { clientId: 'us', privateKey: String(pem).trim(), issuer, isMachine: true },
    ],
    [
      { client_id: 'us', callbackPort: 8080, other: '${NOT_SET}' },
      { clientId: 'us', isMachine: false },
    ],
  ])('accepts %j', (oauth, expected) => {
    const { servers, skipped, warnings } = one({ url, oauth }, env)
    expect({ skipped, warnings }).toEqual({ skipped: [], warnings: [] })
    expect(servers[0]?.reach).toMatchObject({ type: 'auto', url, headers: {}, oauth: expected })
  })

  test.each([
    [{ client_id: '${NONE:-}' }, 'client_id is empty'],
    [{ client_id: '${NONE}' }, 'The environment variable NONE is not set'],
    [{ client_id: 'us', grant_type: 'client_credentials' }, 'needs either client_secret or private_key'],
    [{ client_id: 'us', private_key: '${KEY}' }, 'private_key is for "grant_type": "client_credentials"'],
    [
      { client_id: 'us', private_key: '${SECRET}', grant_type: 'client_credentials' },
      "isn't an RSA or EC key in PEM format",
    ],
    [
      { client_id: 'us', private_key: '${ED}', grant_type: 'client_credentials' },
      "isn't an RSA or EC key in PEM format",
    ],
  ])('%j leaves the server out', (oauth, problem) => {
    const { servers, skipped } = one({ url, oauth: { ...oauth, issuer } }, env)
    expect(servers).toEqual([])
    expect(skipped).toEqual([{ name: 'one', problem: expect.stringContaining(problem) }])
    expect(JSON.stringify(skipped)).not.toContain('s3cret')
  })

  test.each([
    [{ clientId: 'us' }, 'mcpServers.one.oauth is ignored: it has no client_id'],
    [{ client_id: 'us', client_secret: '${SECRET}' }, 'mcpServers.one.oauth has no issuer: its secret is sent to'],
    [{ client_id: 'us', client_secret: 'plain', issuer }, 'mcpServers.one.oauth.client_secret contains a secret'],
  ])('warns about %j', (oauth, problem) => {
    const { servers, warnings } = one({ url, oauth }, env)
    expect(servers).toHaveLength(1)
    expect(warnings).toEqual([{ name: 'one', problem: expect.stringContaining(problem) }])
  })
})

describe('configuration errors', () => {
  test.each<[object, string]>([
    [{ mcpServer: {} }, "unknown key 'mcpServer': did you mean 'mcpServers'?"],
    [{ mcpServers: [] }, 'mcpServers must be an object'],
    [{ mcpServers: { a: 'npx' } }, 'mcpServers.a must be an object'],
    [{ mcpServers: { a: { command: 'x', args: '-y' } } }, 'mcpServers.a.args must be an array'],
    [{ mcpServers: { a: { url: 'http://x', type: 'websocket' } } }, 'mcpServers.a.type must be one of: stdio, http'],
    [{ mcpServers: { a: {} } }, 'mcpServers.a lacks command or url: add it.'],
    [
      { mcpServers: { a: { serverUrl: 'http://x' } } },
      "mcpServers.a lacks command or url: did you mean that instead of 'serverUrl'?",
    ],
    [{ mcpServers: { a: { type: 'sse', command: 'x' } } }, "mcpServers.a.type is 'sse', which doesn't match command"],
    [{ mcpServers: { a: { command: 'x', url: 'http://x' } } }, 'mcpServers.a has both command and url'],
    [{ mcpServers: { a: { url: 'localhost:3000' } } }, 'mcpServers.a.url must be an http or https address'],
    [
      { mcpServers: { a: { url: 'http://x', headers: { 'a b': 'c' } } } },
      'mcpServers.a.headers: "a b" is not a valid header name',
    ],
    [{ mcpServers: { 日本: { command: 'x' } } }, 'mcpServers.日本 is not a valid name: use 1 to 64'],
    [
      { mcpServers: { 'a b': { command: 'x' } }, servers: { 'a/b': { command: 'x' } } },
      `servers.a/b and mcpServers["a b"] have the same name 'a-b': rename one of them.`,
    ],
    [{ inputs: [{ type: 'promptString' }] }, "missing 'inputs[0].id'"],
  ])('%j', (config, problem) => {
    expect(() => checkConfig(config as Config, 'x.json')).toThrow(problem)
    expect(() => checkConfig(config as Config, 'x.json')).toThrow('x.json')
  })
})

test('the answers of a server over HTTP are bounded', async () => {
  const server = createServer((_request, response) => response.end(Buffer.alloc(11 * 1024 * 1024, ' ')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const reach = one({ url }).servers[0]?.reach
  if (reach === undefined || reach.type === 'stdio') throw new Error('no HTTP server')
  await expect(reach.fetch(url)).rejects.toThrow('more data than the limits allow')
})
