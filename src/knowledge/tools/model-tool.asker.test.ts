import { describe, expect, test } from 'vitest'
import type { Model, ModelEvent } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import { type GivenTurn, scripted } from '../../testing/stand-ins.ts'
import { ModelAsker } from './model-tool.ts'

const schema = { type: 'object', properties: {} }
const messages = [{ role: 'user', content: 'Well?' }] as const
const open = new AbortController().signal
const asking = (model: Model | undefined) => new ModelAsker('summarize', async () => model)
const refused = (status: number) => new ModelError(`x:y: The provider answered ${status}.`, { status })

test('sends no tools, temperature 0 and a response schema', async () => {
  const model = scripted('Yes.')
  expect(await asking(model).ask(messages, schema, open)).toBe('Yes.')
  expect(model.requests).toEqual([{ messages, tools: [], temperature: 0, response_schema: schema, signal: open }])
})

test('ignores tool calls', async () => {
  expect(await asking(scripted({ calls: [{ name: 'delete_all' }] })).ask(messages, schema, open)).toBe('')
  const both = scripted({ text: 'Yes.', calls: [{ name: 'delete_all' }] })
  expect(await asking(both).ask(messages, schema, open)).toBe('Yes.')
})

describe('a provider without response schemas', () => {
  const shapes = (model: ReturnType<typeof scripted>) => model.requests.map((one) => one.response_schema)

  test.each([400, 422])('(%i) gets no schema from then on', async (status) => {
    const model = scripted(refused(status), 'One.', 'Two.')
    const asker = asking(model)
    expect(await asker.ask(messages, schema, open)).toBe('One.')
    expect(await asker.ask(messages, schema, open)).toBe('Two.')
    expect(shapes(model)).toEqual([schema, undefined, undefined])
  })

  test('is not assumed if the request fails either way', async () => {
    const model = scripted(refused(400), refused(400), 'Yes.')
    const asker = asking(model)
    await expect(asker.ask(messages, schema, open)).rejects.toMatchObject({ code: 'EXECUTION_ERROR' })
    expect(await asker.ask(messages, schema, open)).toBe('Yes.')
    expect(shapes(model)).toEqual([schema, undefined, schema])
  })
})

describe('a model that fails', () => {
  const gone = "The service behind tool 'summarize' is unavailable. Try again later."
  const network = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:80'), { code: 'ECONNREFUSED' })

  test.each<[string, GivenTurn, object]>([
    [
      'is busy',
      new ModelError('x:y: Too much.', { status: 429, retryable: true, retryAfterMs: 2_000 }),
      { code: 'SERVICE_UNAVAILABLE', message: `${gone} x:y: Too much.`, repeat: { afterMs: 2_000 } },
    ],
    ['fails', refused(503), { code: 'SERVICE_UNAVAILABLE', message: `${gone} x:y: The provider answered 503.` }],
    ['is not there', new ModelError('x:y: No connection.'), { code: 'SERVICE_UNAVAILABLE' }],
    ['refuses the key', refused(401), { code: 'EXECUTION_ERROR', message: expect.stringContaining('401') }],
    ['throws an unexpected error', network, { code: 'SERVICE_UNAVAILABLE', message: gone }],
    ['breaks off', { text: 'Ye', error: new ModelError('x:y: It broke off.') }, { code: 'SERVICE_UNAVAILABLE' }],
  ])('%s', async (_, turn, error) => {
    await expect(asking(scripted(turn)).ask(messages, schema, open)).rejects.toMatchObject(error)
  })

  test('ends its stream early', async () => {
    const model: Model = { id: 'x:y', stream: async function* () {} }
    await expect(asking(model).ask(messages, schema, open)).rejects.toThrow('The response of model x:y ended early')
  })

  test('is not configured', async () => {
    await expect(asking(undefined).ask(messages, schema, open)).rejects.toThrow(
      `Tool 'summarize' needs a model, but none is configured: add one under "providers" and "models"`,
    )
  })
})

test('limits the length of a reply', async () => {
  let given = 0
  async function* endless(): AsyncGenerator<ModelEvent> {
    for (;;) {
      given++
      yield { type: 'text-delta', text: 'x'.repeat(1_000) }
    }
  }
  const reply = await asking({ id: 'x:y', stream: endless }).ask(messages, schema, open)
  expect([reply.length, given]).toEqual([200_000, 201])
})

test('rejects on abort, even if the model ignores it', async () => {
  const controller = new AbortController()
  const reason = new Error('gone')
  const deaf: Model = {
    id: 'x:y',
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
  }
  const asked = asking(deaf).ask(messages, schema, controller.signal)
  setImmediate(() => controller.abort(reason))
  await expect(asked).rejects.toBe(reason)
})
