import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { assertFailure, assertSuccess, type EnvelopeMatchers, envelopeMatchers } from '../testing/envelopes.ts'
import { recordCalls, scripted } from '../testing/stand-ins.ts'
import { tool } from './tool.ts'
import { createToolyard } from './toolyard.ts'

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> extends EnvelopeMatchers<R> {}
}

expect.extend(envelopeMatchers)

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(2) }),
  execute: ({ city }) => ({ city, degrees: 22 }),
})

async function open() {
  const recording = recordCalls()
  const yard = await createToolyard({ tools: [forecast], sinks: [recording] })
  onTestFinished(() => yard.close())
  return { yard, recording }
}

describe('matchers and assertions', () => {
  test('tell a success, with its result and its type', async () => {
    const { yard } = await open()
    const envelope = await yard.call('forecast', { city: 'Oslo' })
    expect(envelope).toSucceedWith()
    expect(envelope).toSucceedWith({ city: 'Oslo', degrees: expect.any(Number) })
    expect(envelope).not.toSucceedWith({ city: 'Rome', degrees: 22 })
    expect(envelope).not.toFailWith('TIMEOUT')
    assertSuccess(envelope, { city: 'Oslo', degrees: 22 })
    expectTypeOf(envelope.result).toEqualTypeOf<{ city: string; degrees: number }>()
    expect(() => assertSuccess(envelope, { city: 'Rome', degrees: 22 })).toThrow(
      "'forecast' returned { city: 'Oslo', degrees: 22 }, not { city: 'Rome', degrees: 22 }",
    )
    expect(() => assertFailure(envelope, 'TIMEOUT')).toThrow(
      "'forecast' succeeded with { city: 'Oslo', degrees: 22 } and should fail with TIMEOUT",
    )
  })

  test('tell a failure, with its code and its message', async () => {
    const { yard } = await open()
    const envelope = await yard.call('forecast', { city: 'X' })
    expect(envelope).toFailWith('INVALID_PARAMETERS')
    expect(envelope).toFailWith('INVALID_PARAMETERS', 'at least 2 characters')
    expect(envelope).toFailWith('INVALID_PARAMETERS', /city must/)
    expect(envelope).not.toFailWith('INVALID_PARAMETERS', 'at most')
    assertFailure(envelope, 'INVALID_PARAMETERS', /^Invalid/)
    expect(() => assertFailure(envelope, 'TIMEOUT')).toThrow(
      "'forecast' failed with INVALID_PARAMETERS and not with TIMEOUT",
    )
    expect(() => assertFailure(envelope, 'INVALID_PARAMETERS', 'at most')).toThrow('not with')
    expect(() => assertSuccess(envelope)).toThrow("'forecast' failed with INVALID_PARAMETERS: Invalid parameters: city")
    expect(() => expect(envelope).toSucceedWith()).toThrow('failed with INVALID_PARAMETERS')
    expect(() => expect(envelope).not.toFailWith('INVALID_PARAMETERS')).toThrow("but 'forecast' failed with")
  })

  test('ask for the envelope if they get a promise', async () => {
    const { yard } = await open()
    const promise = yard.call('forecast', { city: 'Oslo' })
    expect(() => expect(promise).toSucceedWith()).toThrow('await the call')
    expect(() => assertFailure(promise as never, 'TIMEOUT')).toThrow('await the call')
    await promise
  })
})

test('recordCalls records what was called with what, in order, failures included', async () => {
  const { yard, recording } = await open()
  const ask = (city: string) => ({ name: 'forecast', arguments: { city } })
  const model = scripted({ calls: [ask('Oslo'), ask('Rome')] }, { calls: [ask('X')] }, 'Done.')
  await yard.run({ model, prompt: 'Compare.' })
  expect(await recording.calls()).toEqual([
    { tool: 'forecast', input: { city: 'Oslo' } },
    { tool: 'forecast', input: { city: 'Rome' } },
    { tool: 'forecast', input: { city: 'X' }, error_code: 'INVALID_PARAMETERS' },
  ])
})
