import { expect, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } }
const RUN = async () => 1

test('the tools of the page have kind, effect, origin and permission, and nothing of how they are run', async () => {
  const http = { type: 'http', url: 'https://secret-host.example.com', headers: { authorization: 'secret-token' } }
  const server = await openToolServer(
    {
      open: { run: RUN, effect: 'read', parameters: PARAMETERS },
      closed: { run: RUN, permissions: ['vault'] },
      remote: { run: RUN, implementation: http },
    },
    { tenants: { acme: { flags: { vault: true } } } },
  )
  const acme = { 'x-api-key': await server.key('acme', 'user') }
  const globex = { 'x-api-key': await server.key('globex', 'user') }
  const list = async (headers: Record<string, string>) => {
    const text = await (await server.get('/api/page/tools', headers)).text()
    expect(text).not.toMatch(/secret|handler|properties/)
    return (JSON.parse(text) as { tools: { name: string }[] }).tools
  }
  const more = { origin: 'configuration', permissions: [] }
  expect((await list(acme)).slice(0, 3)).toEqual([
    { name: 'open', description: 'The tool open', kind: 'internal', effect: 'read', ...more },
    {
      name: 'closed',
      description: 'The tool closed',
      kind: 'internal',
      effect: 'write',
      ...more,
      permissions: ['vault'],
    },
    { name: 'remote', description: 'The tool remote', kind: 'http', effect: expect.any(String), ...more },
  ])
  expect((await list(globex)).map(({ name }) => name)).not.toContain('closed')
  const one = await server.get('/api/page/tools/open', globex)
  expect(await one.json()).toMatchObject({ name: 'open', parameters: PARAMETERS })
  expect((await server.get('/api/page/tools/closed', globex)).status).toBe(404)
  expect((await server.get('/api/page/tools/none', acme)).status).toBe(404)
})

test.each([true, false])('the last run of a pipeline is shown only if contents of runs may be: %s', async (runs) => {
  const implementation = { type: 'pipeline', steps: [{ id: 'only', tool: 'open' }] }
  const server = await openToolServer({ open: RUN, both: { run: RUN, implementation } }, { storage: { runs } })
  const headers = { 'x-api-key': await server.key('acme', 'operator') }
  expect((await server.call('both', {}, headers)).status).toBe(200)
  const { pipeline } = (await (await server.get('/api/page/tools/both', headers)).json()) as { pipeline: object }
  expect(pipeline).toMatchObject({ steps: [{ id: 'only' }], ...(runs && { last_run: { steps: [{ value: '1' }] } }) })
  expect('last_run' in pipeline).toBe(runs)
})
