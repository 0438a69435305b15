import { expect, it, onTestFinished, vi } from 'vitest'
import {
  depthProblem,
  isDeep,
  jsonProblem,
  parseBody,
  parseJson,
  RefusedJsonError,
  withoutDeepParts,
} from './json-depth.ts'

it.each([
  ['[[1]]', false],
  ['[[[1]]]', true],
  ['{"a":{"b":[]}}', true],
  ['[[],[],[],[]]', false],
  ['"[[[[["', false],
  ['["\\"[[[[", [1]]', false],
  ['["\\\\", [[1]]]', true],
  ['', false],
])('%s is deeper than two: %s', (text, deep) => {
  expect(isDeep(text, 2)).toBe(deep)
})

it('finds brackets of both kinds behind long text', () => {
  const long = `{"text":"${'[{'.repeat(1_000)}","more":[[1]]}`
  expect([isDeep(long, 2), isDeep(long, 3)]).toEqual([true, false])
})

it('parses text up to the limit, and refuses deeper text without parsing it', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  expect(JSON.stringify(parseJson(nested(72), 72))).toBe(nested(72))
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  expect(() => parseJson(nested(73), 72)).toThrow(new RefusedJsonError('is nested deeper than 72 levels'))
  expect(() => parseJson('['.repeat(1_000_000), 72)).toThrow('nested deeper than 72 levels')
  expect(parse).not.toHaveBeenCalled()
})

it.each([
  ['9007199254740991', undefined],
  ['-9007199254740991', undefined],
  ['9007199254740993', '9007199254740993'],
  ['{"a":[1,{"b":-12345678901234567890}]}', '-12345678901234567890'],
  ['{"a":"12345678901234567890","\\"9007199254740993":1}', undefined],
  ['[12345678901234567890.5, 1e300, 0.12345678901234567890]', undefined],
  [`[${'1'.repeat(100_000)}]`, '1'.repeat(40)],
])('refuses a body with an integer that would be rounded: %.60s', (text, rounded) => {
  const parse = () => parseBody(Buffer.from(text), 72)
  if (rounded === undefined) expect(parse()).toEqual(JSON.parse(text))
  else expect(parse).toThrow(`has the integer ${rounded}, which is beyond 2^53`)
})

it('refuses a body that is not UTF-8', () => {
  expect(() => parseBody(Buffer.from([0x22, 0xff, 0x22]), 72)).toThrow(new RefusedJsonError('is not valid UTF-8'))
  expect(parseBody(Buffer.from('"\ufffd ü"'), 72)).toBe('\ufffd ü')
})

it.each([
  '{"a": x}',
  '{"a": 1,}',
  '{"a": 1',
  '{a: 1}',
  '{"a": "b\nc"}',
  '{"a": "x"} more',
  '{"a":}',
  '["a" "b"]',
  '[1, 02]',
  '[1,, 2]',
  '{"a": "\\x"}',
  '{"a": [}',
  '"open',
  '',
  '}',
  '{"a" 1}',
  '[tru]',
  "{'a': 1}",
  '[1}',
])('jsonProblem finds the position in %j', (text) => {
  expect(() => JSON.parse(text)).toThrow()
  expect(jsonProblem(text)).toMatch(/position \d+/)
})

it('jsonProblem quotes what is unexpected, with line and column', () => {
  expect(jsonProblem('{"location": "Paris",\n "units": celsius}')).toBe(
    'unexpected "celsius}" at position 32 (line 2, column 11)',
  )
  expect(jsonProblem('{"a": 1')).toBe('it ends too early, at position 7')
})

it('jsonProblem looks only at the start of a long text', () => {
  expect(jsonProblem(`${'[\n'.repeat(40_000)}x`)).toBeUndefined()
  expect(jsonProblem(`x${'[\n'.repeat(40_000)}`)).toContain('at position 0')
})

it.each(['{}', '[]', ' {"a": [1, -2.5e3, true, null, "\\u00e9\\n"], "b": {"c": []}} ', '"x"', '0', '[[], {}]'])(
  'jsonProblem finds none in %s',
  (text) => {
    expect(JSON.parse(text)).toBeDefined()
    expect(jsonProblem(text)).toBeUndefined()
  },
)

it('refuses a body with more than 100,000 keys without parsing it, and counts none in strings', () => {
  const body = (keys: number) => `{${Array.from({ length: keys }, (_, index) => `"k${index}":0`).join(',')}}`
  expect(Object.keys(parseBody(Buffer.from(body(100_000)), 72) as object)).toHaveLength(100_000)
  const text = { text: '":"\\'.repeat(200_000) }
  expect(parseBody(Buffer.from(JSON.stringify(text)), 72)).toEqual(text)
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  expect(() => parseBody(Buffer.from(body(100_001)), 72)).toThrow(new RefusedJsonError('has more than 100000 keys'))
  expect(parse).not.toHaveBeenCalled()
})

it.each([
  ['{"a":{"b":1}}', undefined],
  ['[[1],[2]]', undefined],
  ['1', undefined],
  ['{"a":[{"b":1}]}', 'a[0] is nested deeper than 2 levels: flatten it'],
  ['[0,{"b":{"c":{}}}]', '[1].b is nested deeper than 2 levels: flatten it'],
  ['{"__proto__":{"constructor":{}}}', '__proto__.constructor is nested deeper than 2 levels: flatten it'],
])('names the part of %s that is nested too deeply', (text, problem) => {
  expect(depthProblem(JSON.parse(text), 2)).toBe(problem)
})

it('finds values of any depth, circles and shared parts without recursion', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  expect([depthProblem(nested(512)), depthProblem(nested(513))?.slice(-44)]).toEqual(
    [undefined, '… is nested deeper than 512 levels: flatten it'].map((text) => text?.slice(-44)),
  )
  expect(depthProblem(nested(1_000_000))).toContain('is nested deeper than 512 levels')
  const circle: Record<string, unknown> = {}
  circle.self = { circle }
  expect(depthProblem(circle)).toContain('self.circle.self')
  // Without remembering shared parts, this would take 2^100 steps.
  let shared: unknown = 1
  for (let level = 0; level < 100; level++) shared = [shared, shared]
  expect(depthProblem(shared)).toBeUndefined()
})

it('does not look into instances of classes', () => {
  expect(depthProblem({ map: new Map([[1, {}]]), date: new Date(0), run: () => 1 }, 1)).toBeUndefined()
})

it('finds nothing in parts that throw when they are read', () => {
  const getter = {
    get a() {
      throw new Error('No.')
    },
  }
  const proxy = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('No.')
      },
    },
  )
  expect([getter, proxy, [getter, proxy]].map((value) => depthProblem(value))).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(depthProblem([getter, [[1]]], 2)).toBe('[1][0] is nested deeper than 2 levels: flatten it')
})

it('replaces what is nested too deeply, and nothing else', () => {
  const text = '{"a":[1,{"b":"]}\\"["}],"c":[[2],[3]],"d":{}}'
  expect(withoutDeepParts(text, 3, '0')).toBe(text)
  expect(withoutDeepParts(text, 2, '0')).toBe('{"a":[1,0],"c":[0,0],"d":{}}')
  expect(withoutDeepParts(text, 1, '0')).toBe('{"a":0,"c":0,"d":0}')
  const deep = '['.repeat(1e6) + ']'.repeat(1e6)
  expect(withoutDeepParts(deep, 3, '0')).toBe('[[[0]]]')
  expect(withoutDeepParts(deep.slice(0, -1e6), 3, '0')).toBe('[[[0')
})
