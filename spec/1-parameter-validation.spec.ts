import type { JsonSchema, ToolFailure } from 'toolyard'
import { describe, expect, test } from 'vitest'
import { api, httpTool, withHttpTools } from './fixtures/http-api.ts'
import { withTools } from './fixtures/tool-manager.ts'

/** The sentence that a tool with these properties answers with; undefined where it ran. */
async function errorOf(properties: JsonSchema, params: unknown, rest: JsonSchema = {}): Promise<string | undefined> {
  const { execute } = await withTools({
    tool: { run: () => 'ran', parameters: { type: 'object', properties, ...rest } },
  })
  const result = await execute('tool', params)
  return result.success ? undefined : result.error
}

describe('Parameter validation', () => {
  test('[1.4-1] validates against the JSON Schema before anything runs', async () => {
    expect(await errorOf({ n: { type: 'integer', minimum: 1 } }, { n: 1 })).toBeUndefined()
    expect(await errorOf({ n: { type: 'integer', minimum: 1 } }, { n: 0 })).toMatch(/^Invalid parameters: n /)
  })

  test('[1.4-2] does not execute the tool when validation fails', async () => {
    let runs = 0
    const parameters = { type: 'object', properties: { n: { type: 'integer' } } }
    const { execute } = await withTools({ count: { run: () => ++runs, parameters } })
    expect(await execute('count', { n: 'one' })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    expect(runs).toBe(0)
  })

  test('[1.4-3] lists all problems in schema order, with the path of a missing parameter', async () => {
    const properties = {
      units: { enum: ['celsius', 'fahrenheit'] },
      city: { type: 'string' },
      days: { type: 'integer' },
    }
    expect(await errorOf(properties, { days: 'x', units: 'kelvin' }, { required: ['city'] })).toBe(
      "Invalid parameters: units must be one of: celsius, fahrenheit, missing 'city', days must be an integer",
    )
    const user = { type: 'object', properties: { email: { type: 'string' } }, required: ['email'] }
    expect(await errorOf({ user }, { user: {} })).toBe("Invalid parameters: missing 'user.email'")
  })

  test('[1.4-4] says that a parameter must be an integer', async () => {
    expect(await errorOf({ n: { type: 'integer' } }, { n: 1.5 })).toBe('Invalid parameters: n must be an integer')
  })

  test('[1.4-5] names the expected type, for each type', async () => {
    const of = (type: string, value: unknown) => errorOf({ v: { type } }, { v: value })
    expect(await of('string', 1)).toBe('Invalid parameters: v must be a string')
    expect(await of('number', '1')).toBe('Invalid parameters: v must be a number')
    expect(await of('boolean', 'true')).toBe('Invalid parameters: v must be a boolean')
    expect(await of('object', [])).toBe('Invalid parameters: v must be an object')
    expect(await of('array', {})).toBe('Invalid parameters: v must be an array')
    expect(await of('null', 0)).toBe('Invalid parameters: v must be null')
  })

  test('[1.4-6] lists the values of an enum', async () => {
    expect(await errorOf({ units: { enum: ['celsius', 'fahrenheit'] } }, { units: 'kelvin' })).toBe(
      'Invalid parameters: units must be one of: celsius, fahrenheit',
    )
  })

  test('[1.4-7] names the format that a parameter must match', async () => {
    const user = { type: 'object', properties: { email: { type: 'string', format: 'email' } } }
    expect(await errorOf({ user }, { user: { email: 'nobody' } })).toBe(
      'Invalid parameters: user.email must match format "email"',
    )
  })

  test('[1.4-8] accepts as integer what Number.isInteger accepts', async () => {
    for (const n of [0, -3, 2.0, 1e21]) expect(await errorOf({ n: { type: 'integer' } }, { n })).toBeUndefined()
    for (const n of [0.5, '1', true, null]) expect(await errorOf({ n: { type: 'integer' } }, { n })).toBeDefined()
  })

  test('[1.4-9] accepts as string only strings', async () => {
    for (const s of ['', 'text', '7']) expect(await errorOf({ s: { type: 'string' } }, { s })).toBeUndefined()
    for (const s of [7, true, null, ['a']]) expect(await errorOf({ s: { type: 'string' } }, { s })).toBeDefined()
  })

  test('[1.4-10] checks number, boolean, array, object and null likewise', async () => {
    const right = { number: 1.5, boolean: false, object: {}, array: [], null: null }
    for (const type of Object.keys(right))
      for (const [other, value] of Object.entries(right)) {
        const error = await errorOf({ v: { type } }, { v: value })
        if (type === other) expect(error).toBeUndefined()
        else expect(error).toMatch(/^Invalid parameters: v must be /)
      }
  })

  test('[1.4-11] coerces nothing', async () => {
    const { execute } = await withTools({ same: { run: (params) => params } })
    const params = { n: '7', b: 'true', nothing: null, list: 'a' }
    expect(await execute('same', params)).toMatchObject({ result: params })
    expect(await errorOf({ list: { type: 'array' } }, { list: 'a' })).toBeDefined()
  })

  test('[1.4-12] passes parameters on that the schema does not name', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer' } } }
    const { execute } = await withTools({ same: { run: (params) => params, parameters } })
    const params = { n: 1, other: { deep: ['x'] } }
    expect(await execute('same', params)).toMatchObject({ result: params })
  })

  test('[1.4-13] refuses unnamed parameters when the schema says additionalProperties: false', async () => {
    expect(await errorOf({}, { other: 1 }, { additionalProperties: false })).toMatch(/^Invalid parameters: .*other/)
  })

  test('[1.4-14] sends no parameter over HTTP that the schema does not name', async () => {
    const { url, received } = await api()
    const { execute } = await withHttpTools([
      httpTool('get', { url }, ['named']),
      httpTool('post', { url, method: 'POST' }, ['named']),
    ])
    for (const name of ['get', 'post'])
      expect(await execute(name, { named: 'a', other: 'b' })).toMatchObject({ success: true })
    expect(received.map(({ query, body }) => [query, body])).toEqual([
      [{ named: 'a' }, ''],
      [{}, '{"named":"a"}'],
    ])
  })

  test('[1.4-15] validates nested objects and arrays', async () => {
    const users = {
      type: 'array',
      items: { type: 'object', properties: { emails: { type: 'array', items: { type: 'string' } } } },
    }
    expect(await errorOf({ users }, { users: [{ emails: ['a'] }, { emails: ['b', 7] }] })).toBe(
      'Invalid parameters: users[1].emails[1] must be a string',
    )
  })

  test('[1.4-16] supports draft 2020-12, and draft-07 when $schema says so', async () => {
    const wrong = async (schema: JsonSchema, value: unknown, rest: JsonSchema = {}) =>
      expect(await errorOf({ v: schema }, { v: value }, rest)).toMatch(/^Invalid parameters: v/)
    const right = async (schema: JsonSchema, value: unknown, rest: JsonSchema = {}) =>
      expect(await errorOf({ v: schema }, { v: value }, rest)).toBeUndefined()
    await wrong({ pattern: '^a+$' }, 'b')
    await right({ pattern: '^a+$' }, 'aa')
    await wrong({ format: 'date' }, '2026-13-01')
    await wrong({ minimum: 3 }, 2)
    await wrong({ $ref: '#/$defs/small' }, 9, { $defs: { small: { maximum: 5 } } })
    await wrong({ oneOf: [{ type: 'integer' }, { minimum: 2 }] }, 3)
    // `prefixItems` is a word of 2020-12; in draft-07 it says nothing, and a list of `items` does.
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' }
    await wrong({ prefixItems: [{ type: 'string' }] }, [1])
    await right({ prefixItems: [{ type: 'string' }] }, [1], draft7)
    await wrong({ items: [{ type: 'string' }] }, [1], draft7)
  })

  test('[1.4-17] fills in defaults before the tool runs', async () => {
    const parameters = {
      type: 'object',
      properties: {
        units: { type: 'string', default: 'celsius' },
        page: { type: 'object', properties: { size: { type: 'integer', default: 5 } } },
      },
    }
    const { execute } = await withTools({ same: { run: (params) => params, parameters } })
    const params = { page: {} }
    expect(await execute('same', params)).toMatchObject({ result: { units: 'celsius', page: { size: 5 } } })
    expect(params).toEqual({ page: {} })
  })

  test("[1.4-18] refuses hostile keys, depth, sizes and parameters that aren't an object", async () => {
    let runs = 0
    const { execute } = await withTools({ count: { run: () => ++runs } })
    const nest = (depth: number): unknown => (depth === 0 ? 1 : { a: nest(depth - 1) })
    const hostile = [
      JSON.parse('{"__proto__": {"admin": true}}'),
      JSON.parse('{"a": [{"constructor": 1}]}'),
      { a: { prototype: 1 } },
      null,
      'text',
      7,
      [],
      nest(65),
      { list: Array(10_001).fill(0) },
      { map: Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 0])) },
      { text: 'x'.repeat(1024 * 1024) },
    ]
    for (const params of hostile)
      expect(await execute('count', params)).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    expect(runs).toBe(0)
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
    expect(await execute('count', { list: Array(10_000).fill(0), deep: nest(60) })).toMatchObject({ result: 1 })
  })

  test('[1.4-19] answers not found for a tool name like ../x', async () => {
    const { execute } = await withTools({})
    for (const name of ['../x', '__proto__', 'constructor', 'a\nb', ''])
      expect(((await execute(name)) as ToolFailure).error_code).toBe('TOOL_NOT_FOUND')
    expect(await execute('../x')).toMatchObject({ error: "Tool '../x' not found" })
  })

  test('[1.4-20] treats special characters in values as data', async () => {
    const { execute } = await withTools({ same: { run: ({ text }) => text } })
    for (const text of ["'; DROP TABLE x; --", '$(rm -rf /)', '<script>', '../../etc', 'a\0b\n\u2028', '🔧'])
      expect(await execute('same', { text })).toMatchObject({ success: true, result: text })
  })

  test('[1.4-21] gives RESULT_TOO_LARGE for a result over max_result_bytes', async () => {
    const run = ({ size }: Record<string, unknown>) => 'x'.repeat(size as number)
    const { execute } = await withTools({ big: { run }, small: { run, max_result_bytes: 100 } })
    expect(await execute('big', { size: 1024 * 1024 - 10 })).toMatchObject({ success: true })
    expect(await execute('big', { size: 1024 * 1024 + 1 })).toMatchObject({ error_code: 'RESULT_TOO_LARGE' })
    expect(await execute('small', { size: 101 })).toMatchObject({ error_code: 'RESULT_TOO_LARGE' })
  })
})
