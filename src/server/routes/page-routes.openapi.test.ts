import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestServer, type TestServer } from '../fixtures/open-server.ts'

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: string[]
  readonly security?: object[]
  readonly responses?: Record<string, { readonly description?: string }>
  readonly parameters?: { readonly schema: object }[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema?: object }> }
}
interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly tags: { readonly name: string }[]
  readonly components: { readonly securitySchemes: object }
  readonly paths: Record<string, Record<string, Operation>>
}

let server: TestServer
let document: Document
beforeAll(async () => {
  server = await openTestServer({}, { local: true })
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document
})
afterAll(() => server.close())

describe('GET /openapi.json', () => {
  test('describes the server and its authentication', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Toolyard', version: '1.2.3' } })
    expect(document.components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    })
  })

  test('lists every endpoint of the specification', () => {
    const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(endpoints).toEqual(
      expect.arrayContaining([
        'POST /tools/execute',
        'GET /schema/tools',
        'GET /metrics/tools/execution',
        'POST /chat',
        'POST /api/ai-sdk/chat',
        'GET /api/tools/list',
        'GET /api/models/list',
        'POST /api/tools/test',
        'POST /api/tools/validate',
        'GET /audit',
        'GET /metrics',
        'GET /health',
        'GET /ready',
        'POST /mcp',
      ]),
    )
  })

  // The server compiles a schema at the first request that needs it.
  test('has a valid schema for every parameter and body', () => {
    const schemas = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ parameters = [], requestBody }) => [...parameters, ...Object.values(requestBody?.content ?? {})])
      .flatMap(({ schema }) => schema ?? [])
    expect(schemas.length).toBeGreaterThan(100)
    const ajv = addFormats.default(new Ajv({ strict: false }))
    for (const schema of schemas) expect(() => ajv.compile(schema), JSON.stringify(schema)).not.toThrow()
  })

  test('documents the summary, tag, security and responses of every endpoint', () => {
    const tags = new Set(document.tags.map(({ name }) => name))
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const what = `${method} ${path}`
        expect([what, operation.summary]).toEqual([what, expect.stringMatching(/^[A-Z].{8,}/)])
        expect([what, operation.tags?.length]).toEqual([what, 1])
        for (const tag of operation.tags ?? []) expect(tags).toContain(tag)
        const open =
          /^\/(health|ready|openapi\.json|api\/session.*|api\/connections\/\{provider\}\/callback|\.well-known\/.*)$/.test(
            path,
          )
        expect([what, operation.security?.length]).toEqual([what, open ? 0 : 2])
        expect(operation.description).toMatch(open ? /Public/ : /scope `\w+`/)
        for (const { description } of Object.values(operation.responses ?? {})) {
          expect([what, description]).toEqual([what, expect.stringMatching(/\w/)])
        }
      }
    }
  })
})

test('docs/reference/server.md lists every endpoint with its scope', () => {
  const page = readFileSync(new URL('../../../docs/reference/server.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| (`[A-Z]+[` ].*?) \| (.*?) ?\|/gm)].flatMap(([, endpoints = '', scopes = '']) =>
    endpointsIn(endpoints).map((endpoint) => `${endpoint} ${scopes}`),
  )
  const served = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description = '' }]) => {
      const [, scopes = ''] = /scope ((?:`\w+`(?: or )?)+)\.$/.exec(description) ?? []
      return `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')} ${scopes.replaceAll('`', '')}`
    }),
  )
  const pages = /^GET \/(docs|guide\/)? $/
  expect(listed.filter((endpoint) => !pages.test(endpoint)).sort()).toEqual(served.sort())
})

/** The endpoints of a cell such as "`GET`, `POST /api/keys`": methods without a path belong to the next path. */
function endpointsIn(cell: string): string[] {
  const words = [...cell.matchAll(/`([A-Z]+)(?: (\S+))?`/g)]
  return words.map(([, method], at) => `${method} ${words.slice(at).find(([, , path]) => path !== undefined)?.[2]}`)
}

test('GET /docs loads nothing from other origins', async () => {
  const page = await fetch(`${server.url}/docs`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  const policy = String(page.headers.get('content-security-policy'))
  expect(policy).toContain("default-src 'none'; script-src 'self';")
  expect(policy).not.toMatch(/https?:/)
  const html = await page.text()
  const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path as string)
  expect(assets.length).toBeGreaterThan(4)
  for (const path of assets) {
    expect(path).toMatch(/^\/docs\//)
    const asset = await fetch(server.url + path)
    expect([path, asset.status]).toEqual([path, 200])
    await asset.arrayBuffer()
  }
  expect(await (await fetch(`${server.url}/docs/json`)).json()).toEqual(document)
})
