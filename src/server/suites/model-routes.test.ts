import { SCORES } from '@toolyard/mini'
import { expect, test } from 'vitest'
import { readScores } from '../../models/model-scores.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const MODELS = [
  { id: 'mini:one', name: 'One', capabilities: ['function-calling'] },
  { id: 'mini:two', name: 'Two', capabilities: [] },
]

interface ListedScores {
  readonly id: string
  readonly scores?: object
  readonly validation: { readonly tested: boolean }
}

test('lists models with the test results of the tenant', async () => {
  const server = await openToolServer({}, { models: MODELS, providers: { mini: {} } })
  const acme = { 'x-api-key': await server.key('acme', 'operator') }
  const globex = { 'x-api-key': await server.key('globex', 'operator') }
  const record = (body: object) => server.post('/api/tools/validate', body, acme)
  const first = await record({ model: 'mini:one', success: true, details: { query: 'weather' } })
  expect([first.status, await first.json()]).toMatchObject([
    200,
    { model_id: 'mini:one', tested: true, validated: true, test_count: 1, success_count: 1 },
  ])
  const second = await record({ model: 'mini:one', success: false, error: 'It called nothing' })
  expect(await second.json()).toMatchObject({
    validated: false,
    test_count: 2,
    success_count: 1,
    last_tested: expect.any(String),
    test_history: [
      { success: true, details: { query: 'weather' } },
      { success: false, error: 'It called nothing' },
    ],
  })
  const list = async (headers: Record<string, string>) =>
    ((await (await server.get('/api/models/list', headers)).json()) as { models: { id: string }[] }).models
  expect((await list(acme)).filter(({ id }) => id !== 'mini:v1')).toEqual([
    { ...MODELS[0], validation: expect.objectContaining({ test_count: 2, validated: false }) },
    { ...MODELS[1], validation: expect.objectContaining({ tested: false, validated: false, test_history: [] }) },
  ])
  for (const { validation } of (await list(globex)) as unknown as { validation: object }[]) {
    expect(validation).toMatchObject({ tested: false, test_count: 0 })
  }
})

test('a model with known scores has them under any provider name', async () => {
  const box = { id: 'box:v0', name: 'Box', capabilities: ['function-calling'] }
  const other = { id: 'other:v0', name: 'Other', capabilities: [] }
  const server = await openToolServer(
    {},
    {
      models: [...MODELS, box, other],
      providers: { box: { type: 'mini' }, other: { type: 'ollama', base_url: 'http://127.0.0.1:1' } },
    },
  )
  const { models } = (await (await server.get('/api/models/list')).json()) as { models: ListedScores[] }
  const scores = await readScores(SCORES)
  expect(scores).toBeDefined()
  expect(models.map((model) => [model.id, model.scores])).toEqual([
    ['mini:one', undefined],
    ['mini:two', undefined],
    ['box:v0', scores],
    ['other:v0', undefined],
    ['mini:v1', scores],
  ])
  // Measured elsewhere, and no test of this server.
  expect(models.every(({ validation }) => !validation.tested)).toBe(true)
  const { paths } = (await (await server.get('/openapi.json')).json()) as { paths: Record<string, unknown> }
  expect(paths['/api/models/list']).toHaveProperty(
    [
      'get',
      'responses',
      '200',
      'content',
      'application/json',
      'schema',
      'properties',
      'models',
      'items',
      'properties',
      'scores',
      'required',
    ],
    ['rules', 'categories'],
  )
})

test.each([
  [{ success: true }, "missing 'model'"],
  [{ model: 'mini:one' }, "missing 'success'"],
  [{ model: 'mini:one', success: 'true' }, 'success must be a boolean'],
  [{ model: 7, success: true }, 'model must be a string'],
  [[], 'the body must be an object'],
])('a test such as %j is refused with 400', async (body, problem) => {
  const server = await openToolServer({})
  const response = await server.post('/api/tools/validate', body)
  expect(response.status).toBe(400)
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(await response.json()).toEqual({
    type: 'about:blank',
    title: 'The request is not valid',
    status: 400,
    detail: problem,
    error: `The request is not valid: ${problem}`,
  })
})

test('rejects a test that cannot be stored with 400', async () => {
  const server = await openToolServer({})
  const response = await server.post('/api/tools/validate', {
    model: 'mini:v1',
    success: true,
    details: 'x'.repeat(70_000),
  })
  expect([response.status, await response.json()]).toMatchObject([400, { error: expect.stringContaining('65536') }])
})
