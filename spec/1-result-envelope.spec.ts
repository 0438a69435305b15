import { ToolErrorCode, ToolExecutionError } from 'toolyard'
import { ManualClock } from 'toolyard/testing'
import { describe, expect, test } from 'vitest'
import { never, yard } from './yard.ts'

const city = {
  type: 'object',
  properties: { city: { type: 'string', description: 'Where' }, days: { type: 'integer' } },
  required: ['city'],
}

describe('Result envelope', () => {
  test('success: {success: true, result, tool_name, execution_time_ms}', async () => {
    const { execute } = await yard({ answer: { run: () => 42 } })
    expect(await execute('answer')).toEqual({
      success: true,
      result: 42,
      tool_name: 'answer',
      execution_time_ms: expect.any(Number),
    })
  })

  test("success: result is the tool's return value, whatever its JSON type", async () => {
    const { execute } = await yard({ same: { run: ({ value }) => value } })
    for (const value of [null, true, 0, -1.5, '', 'text', [], [1, { a: null }], {}, { a: { b: [false] } }])
      expect(await execute('same', { value })).toMatchObject({ success: true, result: value })
  })

  test('failure: {success: false, error, error_code, tool_name, execution_time_ms}', async () => {
    const { execute } = await yard({ fails: { run: () => Promise.reject(new Error('No such city')) } })
    expect(await execute('fails')).toEqual({
      success: false,
      error: 'No such city',
      error_code: 'EXECUTION_ERROR',
      tool_name: 'fails',
      execution_time_ms: expect.any(Number),
    })
  })

  test('failure: error is a sentence a person or a model can act on', async () => {
    const { execute } = await yard({
      weather: { run: () => 'sunny', parameters: city },
      silent: { run: () => Promise.reject(null) },
      closed: { run: () => 1, permissions: ['vault'] },
    })
    expect(await execute('weather')).toMatchObject({ error: "Invalid parameters: missing 'city'" })
    expect(await execute('closed')).toMatchObject({ error: expect.stringContaining('vault') })
    expect(await execute('silent')).toMatchObject({ error: expect.stringMatching(/\w+ \w+/) })
  })

  test('optional on failure: details {problems: [{path, rule, expected}], required: [{name, type, description}]}', async () => {
    const { execute } = await yard({ weather: { run: () => 'sunny', parameters: city } })
    expect(await execute('weather', { days: 'two' })).toMatchObject({
      details: {
        problems: [
          { path: 'city', rule: 'required', expected: expect.anything() },
          { path: 'days', rule: 'type', expected: 'integer' },
        ],
        required: [{ name: 'city', type: 'string', description: 'Where' }],
      },
    })
  })

  test('optional on failure: suggestions: [names] (unknown tool; only tools the caller may see)', async () => {
    const { execute } = await yard({
      get_weather: { run: () => 1 },
      get_weathers: { run: () => 1, permissions: ['vault'] },
    })
    expect(await execute('get_wether')).toMatchObject({ suggestions: ['get_weather'] })
  })

  test('optional on failure: outcome: "unknown" (a write that may have happened)', async () => {
    const { execute } = await yard({
      order: { run: never, timeout_ms: 30, effect: 'write' },
      look: { run: never, timeout_ms: 30, effect: 'read' },
    })
    expect(await execute('order')).toMatchObject({ error_code: 'TIMEOUT', outcome: 'unknown' })
    expect(await execute('look')).not.toHaveProperty('outcome')
  })

  test('execution_time_ms covers the whole attempt, validation included, on success and on failure', async () => {
    const clock = new ManualClock()
    const { execute } = await yard({ weather: { run: () => clock.advance(30), parameters: city } }, { clock })
    // Reading the parameters takes time here, and comes before validation.
    const slow = (value: unknown) => ({
      get city() {
        clock.advance(40)
        return value
      },
    })
    expect((await execute('weather', slow('Paris'))).execution_time_ms).toBe(70)
    expect((await execute('weather', slow(7))).execution_time_ms).toBe(40)
  })

  test('execute() never throws and never rejects: every failure is an envelope', async () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const { execute } = await yard({
      throws: { run: ({ what }) => Promise.reject(what) },
      frozen: { run: () => Promise.reject(Object.freeze({ message: 1 })) },
      huge: { run: () => 10n },
      circular: { run: () => circular },
      trap: {
        run: () => ({
          get value() {
            throw new Error('trap')
          },
        }),
      },
    })
    const calls = [
      execute('throws', { what: 'a string' }),
      execute('throws', { what: null }),
      execute('frozen'),
      execute('huge'),
      execute('circular'),
      execute('trap'),
      execute('throws', null as never),
      execute('throws', circular),
      execute(undefined as never),
      execute('\0\n'),
    ]
    for (const result of await Promise.all(calls))
      expect(result).toMatchObject({ success: false, error: expect.any(String), error_code: expect.any(String) })
  })

  test('error_code is one of a closed table (ToolErrorCode)', () => {
    expect(Object.keys(ToolErrorCode).sort()).toEqual([
      'CANCELLED',
      'EXECUTION_ERROR',
      'INVALID_PARAMETERS',
      'PERMISSION_DENIED',
      'RATE_LIMITED',
      'RESULT_TOO_LARGE',
      'SERVICE_UNAVAILABLE',
      'TIMEOUT',
      'TOOL_NOT_FOUND',
    ])
    expect(Object.isFrozen(ToolErrorCode)).toBe(true)
  })

  test('Thrown inside the system it is a ToolExecutionError that carries the code', async () => {
    const thrown = new ToolExecutionError('RATE_LIMITED', 'Slow down')
    expect(thrown).toBeInstanceOf(Error)
    const { execute } = await yard({ busy: { run: () => Promise.reject(thrown) } })
    expect(await execute('busy')).toMatchObject({ error: 'Slow down', error_code: 'RATE_LIMITED' })
  })
})
