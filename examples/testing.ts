// Tests of a tool and of an agent, without a model and without a network.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToolyard, tool } from 'toolyard'
import { assertFailure, assertSuccess, ManualClock, recordCalls, scripted } from 'toolyard/testing'
import { z } from 'zod'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  effect: 'read',
  rateLimit: { calls: 2, perMs: 60_000 },
  execute: ({ city }) => ({ city, degrees: 22 }),
})

test('a call succeeds with a result, or fails with a code', async () => {
  await using yard = await createToolyard({ tools: [forecast] })
  assertSuccess(await yard.call('forecast', { city: 'Paris' }), { city: 'Paris', degrees: 22 })
  assertFailure(await yard.call('forecast', { city: 'P' }), 'INVALID_PARAMETERS', 'at least 2 characters')
})

test('an agent asks for the city that the user named', async () => {
  const recording = recordCalls()
  await using yard = await createToolyard({ tools: [forecast], sinks: [recording] })
  const model = scripted({ calls: [{ name: 'forecast', arguments: { city: 'Paris' } }] }, 'It is 22 degrees in Paris.')
  const { content } = await yard.run({ model, prompt: 'How warm is Paris?' })
  assert.equal(content, 'It is 22 degrees in Paris.')
  assert.deepEqual(await recording.calls(), [{ tool: 'forecast', input: { city: 'Paris' } }])
  assert.match(JSON.stringify(model.requests.at(-1)?.messages), /"degrees\\*":22/)
})

test('a rate limit ends when its time is over, without waiting', async () => {
  const clock = new ManualClock()
  await using yard = await createToolyard({ tools: [forecast], clock })
  for (const city of ['Paris', 'Rome']) assertSuccess(await yard.call('forecast', { city }))
  assertFailure(await yard.call('forecast', { city: 'Oslo' }), 'RATE_LIMITED')
  clock.advance(60_000)
  assertSuccess(await yard.call('forecast', { city: 'Oslo' }))
})
