import { expect, test } from 'vitest'
import type { ToolDefinition } from '../tool.ts'
import { checkPermissions, inBoth, matchesGlobs, missingPermission, NO_FLAGS, shownGlobs } from './permit.ts'

const tool = (permissions?: readonly string[]): ToolDefinition => ({
  name: 'tool',
  description: 'A tool.',
  parameters: { type: 'object' },
  implementation: { type: 'mock' },
  ...(permissions !== undefined && { permissions }),
})
const missing = (flags: object, permissions?: readonly string[]) =>
  missingPermission(tool(permissions), { flags: flags as never })

test('a tool that requires permissions needs each to be exactly true', () => {
  expect(missing({ read: true, mail: true }, ['read', 'mail'])).toBeUndefined()
  expect(missing({ read: true }, ['read', 'mail'])).toBe('mail')
  expect(missing(NO_FLAGS, ['read'])).toBe('read')
  for (const almost of [1, 'true', {}, false, null]) expect(missing({ read: almost }, ['read'])).toBe('read')
})

test("inherited flags don't count", () => {
  expect(missing(Object.create({ read: true }), ['read'])).toBe('read')
  expect(missing({}, ['constructor'])).toBe('constructor')
})

test.each([[[undefined]], [[undefined, 'admin']], [Array(1)], [[null]], [[7]], ['admin'], [null], [5], [{}]])(
  'permissions of %j open no tool, and are reported',
  (permissions) => {
    for (const flags of [{}, { admin: false }, { tool: true }])
      expect(missing(flags, permissions as never)).toBeDefined()
    expect(() => checkPermissions({ ...tool(), permissions: permissions as never })).toThrow(
      /^Tool 'tool' has invalid permissions: they must be a list of names, not /,
    )
  },
)

test('a tool without permissions is open unless its own flag is false, and that flag closes any tool', () => {
  expect(missing({})).toBeUndefined()
  expect(missing({ tool: undefined })).toBeUndefined()
  expect(missing({ tool: false })).toBe('tool')
  expect(missing({ tool: false, read: true }, ['read'])).toBe('tool')
  expect(missing(Object.create({ tool: false }))).toBeUndefined()
})

test('a key that is limited to some tools may use no other, whatever the flags say', () => {
  const limited = (...tools: string[]) =>
    missingPermission(tool(['read']), { flags: { read: true }, tools }) === undefined
  expect([limited('tool'), limited('t*'), limited('*')]).toEqual([true, true, true])
  expect([limited('tools'), limited(), limited('other', 'x*')]).toEqual([false, false, false])
  expect(missingPermission(tool(['read']), { tools: ['tool'] })).toBe('read')
})

test.each([
  ['get_weather', 'get_weather', true],
  ['get_weather', 'get_weather2', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['get_*', 'get_', true],
  ['get_*', 'forget_it', false],
  ['*_file', 'read_file', true],
  ['*_file', 'read_files', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'a-b-b-c', true],
  ['a*bc*c', 'a-bc', false],
  ['ab*bc', 'abc', false],
  ['openai:gpt-4o*', 'openai:gpt-4o-mini', true],
  ['openai:*', 'openai2:gpt-4o', false],
  ['g.t', 'get', false],
  ['', '', true],
  ['', 'a', false],
])('the pattern %j and the name %j: %j', (pattern, name, matches) => {
  expect(matchesGlobs([pattern], name)).toBe(matches)
})

test('one of several patterns is enough, and no pattern matches nothing', () => {
  expect(matchesGlobs(['a', 'b*'], 'bc')).toBe(true)
  expect(matchesGlobs([], '')).toBe(false)
})

test('patterns of two lists match what both match', () => {
  const both = inBoth(['get_*', 'put_one'], ['*_one']) ?? []
  const matching = ['get_one', 'put_one', 'get_two', 'set_one', ' and '].filter((name) => matchesGlobs(both, name))
  expect([matching, shownGlobs(both)]).toEqual([['get_one', 'put_one'], 'get_*, put_one and *_one'])
  expect([inBoth(['a'], undefined), inBoth(undefined, ['b']), inBoth()]).toEqual([['a'], ['b'], undefined])
  for (const none of [inBoth([], ['*']), inBoth(['*'], [])]) expect(matchesGlobs(none ?? [], 'a')).toBe(false)
})
