import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Params } from '../../../core/tool.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { type Arrived, Wire } from './fixtures/wire.ts'
import { compileRequest, type RequestPlan } from './request-plan.ts'

const RUNS = { numRuns: 300 }
const HOSTILE = [
  ...[
    '..',
    '../',
    '..%2f',
    '%2e%2e',
    '..;/',
    '\\',
    '/',
    '//',
    ';',
    '?',
    '#',
    '&',
    '=',
    '%',
    '%00',
    '%0d%0a',
    '+',
    ' ',
    ',',
  ],
  ...['\r\n', '\n', '\u0000', '\u007f', '\ud800', '@evil.test', 'http://evil.test', '${HOME}', '{id}', '[0]', '|', '"'],
  ...['x: y', '\r\nhost: evil.test', '; a=b', '&admin=1', '__proto__', 'é', '日本', '😀', '.'],
]
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc
    .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 3 })), { maxLength: 4 })
    .map((all) => all.join('')),
)
const scalar = fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
const optional = fc.option(scalar, { nil: undefined })
const json = fc.jsonValue({ maxDepth: 3 })

let wire: Wire

beforeAll(async () => {
  wire = await Wire.open()
})
afterAll(() => wire.close())

/** What arrives; undefined where the parameters were refused, which they may be for what they hold, and only then. */
async function arrived(plan: RequestPlan, params: Params): Promise<Arrived | undefined> {
  let request: ReturnType<RequestPlan['build']>
  try {
    request = plan.build(params)
  } catch (error) {
    expect(error).toBeInstanceOf(ToolExecutionError)
    expect(error).toMatchObject({ code: 'INVALID_PARAMETERS' })
    expect((error as Error).message).toMatch(/^Invalid parameters: \w+ must [\s\S]+$/)
    return undefined
  }
  return wire.send(request)
}

const USUAL = [
  ['accept', 'application/json, */*;q=0.5'],
  ['user-agent', 'toolyard'],
]
const isSpecial = (value: string): boolean => /\p{Cc}/u.test(value) || !value.isWellFormed()
const isAscii = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)

describe('sends any parameters to the intended place', () => {
  test('parts of a path and parameters of a query', async () => {
    const url = `${wire.origin}/v1/{first}/things/{second}.json?fixed=1`
    const plan = compileRequest(httpTool({ url, query: { more: '&' } }, ['first', 'second', 'q', 'r']), {})
    let sent = 0
    await fc.assert(
      fc.asyncProperty(scalar, scalar, optional, optional, async (first, second, q, r) => {
        const got = await arrived(plan, { first, second, q, r })
        if (got === undefined) return
        sent++
        expect(got.segments).toEqual(['v1', String(first), 'things', `${second}.json`])
        const given = Object.entries({ q, r }).flatMap(([name, one]) =>
          one === undefined ? [] : [[name, String(one)]],
        )
        expect(got.query).toEqual([['fixed', '1'], ['more', '&'], ...given])
        expect(got.headers).toEqual(USUAL)
        expect([got.method, got.body]).toEqual(['GET', ''])
      }),
      RUNS,
    )
    expect(sent).toBeGreaterThan(RUNS.numRuns / 10)
  })

  test('no harmless value is refused, and every other is', () => {
    const plan = compileRequest(
      httpTool({ url: 'https://a.test/{p}', params_in: { h: 'header' } }, ['p', 'q', 'h']),
      {},
    )
    const refused = (params: Params): boolean => {
      try {
        plan.build({ p: 'x', ...params })
        return false
      } catch {
        return true
      }
    }
    fc.assert(
      fc.property(text, (value) => {
        expect(refused({ q: value })).toBe(!value.isWellFormed())
        expect(refused({ h: value })).toBe(!isAscii(value))
        if (value === '' || isSpecial(value)) expect(refused({ p: value })).toBe(true)
        else if (!/[.%]/.test(value)) expect(refused({ p: value })).toBe(false)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a path is never read as another, by any parser of addresses', () => {
    const plan = compileRequest(httpTool({ url: 'https://a.test/v1/{p}/x' }, ['p']), {})
    fc.assert(
      fc.property(text, (p) => {
        let path: string
        try {
          path = plan.build({ p }).path
        } catch {
          return
        }
        const url = new URL(`https://a.test${path}`)
        expect([url.host, url.pathname, url.search, url.hash]).toEqual(['a.test', path, '', ''])
        // A server behind another decodes once more: it still comes to no place above.
        const twice = new URL(
          `https://a.test/v1/${decodeURIComponent(path.slice('/v1/'.length))}`.replaceAll(/[?#]/g, '_'),
        )
        expect(twice.pathname).toMatch(/^\/v1\//)
      }),
      { numRuns: 2_000 },
    )
  })

  test('headers and cookies', async () => {
    const params_in = { one: 'header', two: 'header', c: 'cookie', d: 'cookie' }
    const implementation = { url: wire.origin, params_in, params_mapping: { one: 'X-One', c: 'session' } }
    const plan = compileRequest(
      httpTool({ ...implementation, headers: { 'X-Fixed': 'f' } }, ['one', 'two', 'c', 'd']),
      {},
    )
    let sent = 0
    await fc.assert(
      fc.asyncProperty(optional, optional, optional, optional, async (one, two, c, d) => {
        const got = await arrived(plan, { one, two, c, d })
        if (got === undefined) return
        sent++
        const cookies = Object.entries({ session: c, d }).filter(([, value]) => value !== undefined)
        const cookie = cookies.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('; ')
        expect(got.headers).toEqual([
          ...USUAL,
          ['x-fixed', 'f'],
          ...(one === undefined ? [] : [['x-one', String(one).trim()]]),
          ...(two === undefined ? [] : [['two', String(two).trim()]]),
          ...(cookie === '' ? [] : [['cookie', cookie]]),
        ])
        expect([got.segments, got.query]).toEqual([[''], []])
      }),
      RUNS,
    )
    expect(sent).toBeGreaterThan(RUNS.numRuns / 20)
  })

  test('JSON bodies', async () => {
    const implementation = { url: `${wire.origin}/{id}`, method: 'POST', params_mapping: { a: '__proto__', b: 'b "b' } }
    const plan = compileRequest(httpTool(implementation, ['id', 'a', 'b', 'c']), {})
    await fc.assert(
      fc.asyncProperty(json, json, fc.option(json, { nil: undefined }), async (a, b, c) => {
        const got = await arrived(plan, { id: 'x', a, b, c, other: 1 })
        const pairs = [['__proto__', a] as const, ['b "b', b] as const, ...(c === undefined ? [] : [['c', c] as const])]
        // Compared as texts: what a text of JSON cannot tell apart (-0) does not arrive.
        expect(got?.body).toBe(JSON.stringify(Object.fromEntries(pairs)))
        expect(got?.headers).toEqual([['content-type', 'application/json'], ...USUAL])
        expect(got?.query).toEqual([])
      }),
      RUNS,
    )
  })

  test('forms', async () => {
    const implementation = { url: wire.origin, method: 'PUT', body: 'form', params_mapping: { a: 'a&b=' } }
    const plan = compileRequest(httpTool(implementation, ['a', 'list', 'object']), {})
    await fc.assert(
      fc.asyncProperty(optional, fc.array(scalar), fc.dictionary(text, scalar), async (a, list, object) => {
        const got = await arrived(plan, { a, list, object })
        if (got === undefined) return
        expect([...new URLSearchParams(got.body)]).toEqual([
          ...(a === undefined ? [] : [['a&b=', String(a)]]),
          ...list.map((item) => ['list', String(item)]),
          ['object', JSON.stringify(object)],
        ])
      }),
      RUNS,
    )
  })

  test('texts', async () => {
    const plan = compileRequest(
      httpTool({ url: wire.origin, method: 'POST', body_param: 't', body: 'text' }, ['t']),
      {},
    )
    await fc.assert(
      fc.asyncProperty(text, async (t) => {
        const got = await arrived(plan, { t })
        expect(got?.body).toBe(t.isWellFormed() ? t : undefined)
      }),
      RUNS,
    )
  })

  test('objects whose keys are anybody’s: no key becomes a parameter that is not meant', async () => {
    const parameters = { a: { type: 'object', properties: { known: {} } }, b: { type: 'object' }, q: {} }
    const params_in = { a: { in: 'query', style: 'form' }, b: { in: 'query', style: 'deepObject' } }
    const plan = compileRequest(httpTool({ url: wire.origin, params_in }, parameters), {})
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.oneof(text, fc.constantFrom('known', 'q', 'b')), scalar),
        fc.dictionary(text, fc.oneof(scalar, fc.dictionary(text, scalar))),
        async (a, b) => {
          const got = await arrived(plan, { a, b, q: 1 })
          if (got === undefined) return
          const known = got.query.slice(0, Object.hasOwn(a, 'known') ? 1 : 0)
          expect(known).toEqual(Object.hasOwn(a, 'known') ? [['known', String(a.known)]] : [])
          expect(got.query.at(-1)).toEqual(['q', '1'])
          for (const [name] of got.query.slice(known.length, -1)) expect(name).toMatch(/^b\[[\s\S]*\]$/)
        },
      ),
      RUNS,
    )
  })
})

describe('requests without a body', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'GET'])('%s arrives', async (method) => {
    const plan = compileRequest(httpTool({ url: `${wire.origin}/a%20b/`, method }), {})
    expect(await wire.send(plan.build({}))).toEqual({
      method,
      segments: ['a b', ''],
      query: [],
      headers: USUAL,
      body: '',
    })
  })
})
