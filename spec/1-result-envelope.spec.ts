import { ToolErrorCode, ToolExecutionError } from 'toolyard'
import { ManualClock } from 'toolyard/testing'
import { describe, expect, test } from 'vitest'
import { never, withTools } from './fixtures/tool-manager.ts'

const city = {
  type: 'object',
  properties: { city: { type: 'string', description: 'Where' }, days: { type: 'integer' } },
  required: ['city'],
}

describe('Result envelope', () => {
  test('[1.1-1] resolves to success, result, tool_name and execution_time_ms on success', async () => {
    const { execute } = await withTools({ answer: { run: () => 42 } })
    expect(await execute('answer')).toEqual({
      success: true,
      result: 42,
      tool_name: 'answer',
      execution_time_ms: expect.any(Number),
    })
  })

  test("[1.1-2] returns the tool's return value as result, whatever its JSON type", async () => {
    const { execute } = await withTools({ same: { run: ({ value }) => value } })
    for (const value of [null, true, 0, -1.5, '', 'text', [], [1, { a: null }], {}, { a: { b: [false] } }])
      expect(await execute('same', { value })).toMatchObject({ success: true, result: value })
  })

  test('[1.1-3] resolves to error and error_code on failure', async () => {
    const { execute } = await withTools({ fails: { run: () => Promise.reject(new Error('No such city')) } })
    expect(await execute('fails')).toEqual({
      success: false,
      error: 'No such city',
      error_code: 'EXECUTION_ERROR',
      tool_name: 'fails',
      execution_time_ms: expect.any(Number),
    })
  })

  test('[1.1-4] writes error as a sentence that a person or a model can act on', async () => {
    const { execute } = await withTools({
      weather: { run: () => 'sunny', parameters: city },
      silent: { run: () => Promise.reject(null) },
      closed: { run: () => 1, permissions: ['vault'] },
    })
    expect(await execute('weather')).toMatchObject({ error: "Invalid parameters: missing 'city'" })
    expect(await execute('closed')).toMatchObject({ error: expect.stringContaining('vault') })
    expect(await execute('silent')).toMatchObject({ error: expect.stringMatching(/\w+ \w+/) })
  })

  test('[1.1-5] lists problems and required parameters in details when parameters are invalid', async () => {
    const { execute } = await withTools({ weather: { run: () => 'sunny', parameters: city } })
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

  test('[1.1-6] suggests only tools that the caller may see when the tool is unknown', async () => {
    const { execute } = await withTools({
      get_weather: { run: () => 1 },
      get_weathers: { run: () => 1, permissions: ['vault'] },
    })
    expect(await execute('get_wether')).toMatchObject({ suggestions: ['get_weather'] })
  })

  test('[1.1-7] marks a write that may have happened with outcome "unknown"', async () => {
    const { execute } = await withTools({
      order: { run: never, timeout_ms: 30, effect: 'write' },
      look: { run: never, timeout_ms: 30, effect: 'read' },
    })
    expect(await execute('order')).toMatchObject({ error_code: 'TIMEOUT', outcome: 'unknown' })
    expect(await execute('look')).not.toHaveProperty('outcome')
  })

  test('[1.1-8] measures the whole attempt, validation included, on success and on failure', async () => {
    const clock = new ManualClock()
    const { execute } = await withTools({ weather: { run: () => clock.advance(30), parameters: city } }, { clock })
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

  test('[1.1-9] never throws and never rejects', async () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const { execute } = await withTools({
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

  test('[1.1-10] takes error_code from a closed table', () => {
    expect(Object.keys(ToolErrorCode).sort()).toEqual([
      'APPROVAL_REQUIRED',
      'CANCELLED',
      'CONNECTION_REQUIRED',
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

  test('[1.1-11] throws a ToolExecutionError with the code inside the system', async () => {
    const thrown = new ToolExecutionError('RATE_LIMITED', 'Slow down')
    expect(thrown).toBeInstanceOf(Error)
    const { execute } = await withTools({ busy: { run: () => Promise.reject(thrown) } })
    expect(await execute('busy')).toMatchObject({ error: 'Slow down', error_code: 'RATE_LIMITED' })
  })
})
