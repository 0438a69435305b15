import { expect, test } from 'vitest'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'
import { normalized } from './normalized.ts'

/** The endpoints in their order, then the document with sorted paths: a route that moves is a small difference. */
function shown(text: string): string {
  const document = JSON.parse(text)
  const paths = Object.entries<object>(document.paths)
  const endpoints = paths.flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}\n`))
  const sorted = Object.fromEntries(paths.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return normalized(`${endpoints.join('')}\n${JSON.stringify({ ...document, paths: sorted }, undefined, 2)}\n`)
}

test('GET /openapi.json is the same, with keys and without', async () => {
  const server = await openTestServer({ tools: { enabled: true } }, { local: true })
  try {
    const text = async () => (await fetch(`${server.url}/openapi.json`)).text()
    const keyless = await text()
    await expect(shown(keyless)).toMatchFileSnapshot('openapi.txt')
    await server.key('acme')
    expect(await text()).toBe(keyless)
  } finally {
    await server.close()
  }
})

test('GET /openapi.json of a server on which every feature is on is the same', async () => {
  const keyless = await openTestServer({}, { local: true })
  const server = await openTestServer(
    {
      tools: { enabled: true, code_mode: {}, discovery: {} },
      auth: {
        oidc: {
          ...{ issuer: 'https://issuer.example', audience: 'toolyard', client_id: 'toolyard' },
          ...{ tenant_claim: 'tenant', role_claim: 'role', roles: { admins: 'admin' } },
        },
      },
      objectives: [{ success: 0.9 }],
      server: { cors_origins: ['https://page.example'] },
    },
    { env: { TOOLYARD_ENCRYPTION_KEY: 'g'.repeat(43) } },
  )
  try {
    await server.key('acme')
    const [one, other] = await Promise.all(
      [keyless, server].map(async ({ url }) => (await fetch(`${url}/openapi.json`)).json()),
    )
    expect(other).toEqual(one)
  } finally {
    await server.close()
    await keyless.close()
  }
})
