import { describe, expect, onTestFinished, test } from 'vitest'
import { INITIALIZE, POST_HEADERS } from '../../mcp/server/fixtures/http-yard.ts'
import { dial } from '../fixtures/dial.ts'
import { openIssuer } from '../fixtures/open-issuer.ts'
import { openTestServer } from '../fixtures/open-server.ts'
import { openToolServer, toolConfig } from '../fixtures/open-tool-server.ts'
import { rawRequest } from '../fixtures/raw-request.ts'
import { normalTarget } from './request-target.ts'

const PUBLIC = 'https://tools.example.com'
const HOST = 'tools.example.com'

/** A request whose target is sent as it is. */
const asked = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`

const statusOf = (answer: string): number => Number(answer.split(' ')[1])

describe('a token for one virtual server', () => {
  async function openServers(audience: string | string[] = 'api://one') {
    const issuer = await openIssuer()
    onTestFinished(() => issuer.close())
    const { config, handlers } = toolConfig({ who: { run: async () => 'done' } })
    const parts = { alpha: { tools: ['who'] }, beta: { tools: ['who'] } }
    const auth = { oidc: { ...issuer.settings, audience } }
    const mcp = { servers_out: parts }
    const roles = { owner: { scopes: ['read'] } } as const
    const server = await openTestServer({ ...config, server: { public_url: PUBLIC }, roles, auth, mcp }, { handlers })
    onTestFinished(() => server.close())
    return async (target: string, aud: string) => {
      const authorization = `Bearer ${issuer.token({ aud })}`
      const headers = { ...POST_HEADERS, host: HOST, authorization }
      const body = JSON.stringify(INITIALIZE)
      const answer = await rawRequest(server.url, { method: 'POST', target, headers, body })
      const challenge = /resource_metadata="([^"]*)"/.exec(answer.headers['www-authenticate'] ?? '')?.[1]
      return { status: answer.status, challenge }
    }
  }

  const SPELLINGS = [
    '/mcp/%61lpha',
    '/mcp/%61%6C%70%68%61',
    '/mcp/alph%61?x=1',
    '/%6Dcp/alpha',
    `http://${HOST}/mcp/alpha`,
    `HTTP://${HOST}/mcp/%61lpha?x`,
  ]

  test('is accepted at every spelling of its path', async () => {
    const ask = await openServers()
    for (const target of SPELLINGS) {
      expect([target, await ask(target, `${PUBLIC}/mcp/alpha`)]).toEqual([target, { status: 200 }])
    }
  })

  test.each([`${PUBLIC}/mcp`, `${PUBLIC}/mcp/beta`])(
    'with the audience %s is refused at every spelling',
    async (aud) => {
      const ask = await openServers()
      const challenge = `${PUBLIC}/.well-known/oauth-protected-resource/mcp/alpha`
      for (const target of ['/mcp/alpha', ...SPELLINGS]) {
        expect([target, await ask(target, aud)]).toEqual([target, { status: 401, challenge }])
      }
    },
  )

  test('is never accepted at a path that names no server', async () => {
    const ask = await openServers()
    const others = [
      '/mcp/%2561lpha',
      '/mcp/ALPHA',
      '/mcp/alpha%2F',
      '/mcp/alpha;x=1',
      '/mcp/beta%2F..%2Falpha',
      '/mcp/%22%0d%0ax',
      '/mcp/alpha%00',
    ]
    for (const target of others) {
      for (const aud of [`${PUBLIC}/mcp`, `${PUBLIC}/mcp/alpha`]) {
        expect([target, (await ask(target, aud)).status]).toEqual([target, 401])
      }
      expect([target, (await ask(target, 'api://one')).status]).toEqual([target, 404])
    }
    for (const target of [
      '/mcp/beta/../alpha',
      '/mcp/./alpha',
      '//mcp/alpha',
      '/mcp//alpha',
      '/mcp/%2e/alpha',
      '/MCP',
    ]) {
      expect([target, (await ask(target, 'api://one')).status]).toEqual([target, 404])
    }
  })

  test.each(['/mcp/%61lpha', '/mcp/alpha/', '/mcp/alpha?x', '/mcp/alpha#x', '//mcp/alpha'])(
    'stays one for this path if the configuration spells the audience %s',
    async (path) => {
      const ask = await openServers(['api://one', PUBLIC + path])
      expect((await ask('/mcp/beta', PUBLIC + path)).status).toBe(401)
      expect((await ask('/mcp', PUBLIC + path)).status).toBe(401)
      expect((await ask('/mcp/alpha', PUBLIC + path)).status).toBe(200)
    },
  )
})

describe('a request target', () => {
  test('is normalized without changing what it means', () => {
    const cases: Readonly<Record<string, string>> = {
      '/a': '/a',
      '/a?q=%61': '/a?q=%61',
      '/%61%7E%2e%2D%5f?%61': '/a~.-_?%61',
      '/%2Fa%3Fb%25%61%C3%A9': '/%2Fa%3Fb%25a%C3%A9',
      '/%E0%A4%A': '/%E0%A4%A',
      'http://host': '/',
      'https://host?x': '/?x',
      'http://host/%61': '/a',
      '*': '*',
    }
    for (const [target, normal] of Object.entries(cases)) {
      expect([target, normalTarget(target, 'host')]).toEqual([target, { target: normal }])
    }
  })

  test('with another host than the Host header is refused', async () => {
    const server = await openToolServer({})
    for (const target of ['http://evil.example/health', 'http://127.0.0.1@evil.example/health', 'http:///health']) {
      const answer = await dial(server.url, asked(target))
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).toContain('The request target and the Host header name different hosts')
    }
    expect(statusOf(await dial(server.url, asked('http://127.0.0.1/health')))).toBe(200)
  })

  test('with a fragment or of another scheme is refused', async () => {
    const server = await openToolServer({})
    for (const target of ['/health#x', '/health?a#b', 'ftp://127.0.0.1/health']) {
      expect([target, statusOf(await dial(server.url, asked(target)))]).toEqual([target, 400])
    }
  })

  test('of the OpenAI endpoint gets its errors at every spelling', async () => {
    const server = await openToolServer({})
    for (const target of ['/v1/none', '/%761/none', 'http://127.0.0.1/v1/none']) {
      const answer = await dial(server.url, asked(target))
      expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({ error: { message: expect.any(String) } })
    }
  })
})

describe('a header that decides a request', () => {
  const SINGLE = {
    host: ['127.0.0.1', 'evil.example'],
    authorization: ['Bearer one', 'Bearer two'],
    'x-api-key': ['one', 'two'],
    origin: ['http://127.0.0.1', 'http://evil.example'],
    'toolyard-user': ['ada', 'eve'],
    'sec-fetch-site': ['same-origin', 'cross-site'],
    'sec-fetch-mode': ['navigate', 'cors'],
    'sec-fetch-dest': ['document', 'empty'],
    'content-type': ['application/json', 'text/plain'],
    'mcp-session-id': ['one', 'two'],
    'idempotency-key': ['one', 'two'],
  }

  test.each(Object.entries(SINGLE))('%s is refused if it is sent twice', async (name, [first, second]) => {
    const server = await openToolServer({})
    for (const value of [second, first]) {
      const text = `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n${name === 'host' ? '' : `${name}: ${first}\r\n`}`
      const answer = await dial(server.url, `${text}${name.toUpperCase()}: ${value}\r\nConnection: close\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).toContain(`The header ${name} is sent more than once`)
      expect(answer).toContain('application/problem+json')
      expect(answer).toContain('nosniff')
    }
  })

  test('is accepted once, and others may be sent twice', async () => {
    const server = await openToolServer({})
    const text = 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: a\r\nAccept: b\r\nCookie: a=1\r\nCookie: b=2\r\n'
    expect(statusOf(await dial(server.url, `${text}Connection: close\r\n\r\n`))).toBe(200)
  })
})
