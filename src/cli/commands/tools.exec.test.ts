import { afterAll, describe, expect, test } from 'vitest'
import { config, emptyFolder, mock, toolyard } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)

describe('exec', () => {
  test('prints the result on stdout and nothing else', async () => {
    expect(await toolyard(['exec', 'get_weather', '{"location":"Paris"}'])).toEqual({
      code: 0,
      out: '{ "temperature": 22, "condition": "sunny", "humidity": 65 }\n',
      err: '',
    })
  })

  test('prints a string as it is, other values as JSON', async () => {
    const file = await config('values', [mock('text', 'two\nlines'), mock('list', [1, null])])
    expect(await toolyard(['exec', 'text', '--config', file])).toMatchObject({ code: 0, out: 'two\nlines\n' })
    expect(await toolyard(['exec', 'list', '--config', file])).toMatchObject({ code: 0, out: '[1, null]\n' })
  })

  test('reads parameters from stdin', async () => {
    const { code, out } = await toolyard(['exec', 'echo', '-', '--json'], { stdin: '\ufeff{"text":"héllo"}\n' })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ success: true, result: { echo: { text: 'héllo' } }, tool_name: 'echo' })
  })

  test("reads pairs by the tool's schema", async () => {
    const properties = { n: { type: 'integer' }, on: { type: 'boolean' }, text: { type: 'string' }, any: {} }
    const echo = { ...mock('typed', null, properties), implementation: { type: 'builtin', handler: 'echo' } }
    const file = await config('typed', [echo])
    const pairs = ['n=5', 'on=true', 'text=5', 'any=5', 'other=a=b']
    const { out } = await toolyard(['exec', 'typed', ...pairs, '--json', '--config', file])
    expect(JSON.parse(out).result.echo).toEqual({ n: 5, on: true, text: '5', any: '5', other: 'a=b' })
  })

  test('reports a failed call on stderr with advice, and exits with 1', async () => {
    const { code, out, err } = await toolyard(['exec', 'get_weather', 'units=kelvin'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain("Invalid parameters: missing 'location', units must be one of: celsius, fahrenheit\n")
    expect(err).toContain('location (string): ')
    expect(err).toContain('INVALID_PARAMETERS')
    expect(err).not.toContain('"level"')
  })

  test('shows the required parameters only if one is missing', async () => {
    const { err } = await toolyard(['exec', 'get_weather', 'location=Paris', 'units=kelvin'])
    expect(err).toContain('units must be one of: celsius, fahrenheit\n')
    expect(err).not.toContain('Required:')
  })

  test('suggests similar names for an unknown tool', async () => {
    const { code, out, err } = await toolyard(['exec', 'get_wether'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain("Tool 'get_wether' not found\n  Did you mean get_weather?\n")
  })

  test('the key __proto__ is refused, from JSON and from pairs', async () => {
    for (const params of ['{"__proto__":{"a":1}}', '__proto__=1']) {
      const { code, out } = await toolyard(['exec', 'echo', params, '--json'])
      expect(code).toBe(1)
      expect(JSON.parse(out)).toMatchObject({ error: "Invalid parameters: the key '__proto__' is not allowed" })
    }
  })

  test('a deadline out of range is brought inside, and stderr says so', async () => {
    const low = await toolyard(['exec', 'echo', '--timeout', '5'])
    expect(low).toMatchObject({ code: 0, out: '{ "echo": {} }\n' })
    expect(low.err).toBe('--timeout 5 is out of range (1000 to 60000): using 1000 ms.\n')
    expect((await toolyard(['exec', 'echo', '--timeout', '2000'])).err).toBe('')
  })

  test('--verbose logs the call on stderr', async () => {
    const { out, err } = await toolyard(['exec', 'echo', 'text=hi', '--verbose'])
    expect(out).toBe('{ "echo": { "text": "hi" } }\n')
    expect(JSON.parse(err.trim().split('\n').at(-1) ?? '')).toMatchObject({ tool: 'echo', success: true })
  })

  test('a definition that was left out is named when it is called', async () => {
    const file = await config('left-out', [{ ...mock('half', 1), effect: 'maybe' }])
    const { code, err } = await toolyard(['exec', 'half', '--config', file])
    expect(code).toBe(1)
    expect(err).toMatch(/The definition of 'half' is invalid: effect must be one of: read, idempotent, write/)
  })
})
