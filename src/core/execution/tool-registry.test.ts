import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { captureLog } from '../../testing/stand-ins.ts'
import type { Kind } from '../handler.ts'
import type { ToolDefinition } from '../tool.ts'
import { ToolExecutor } from './tool-executor.ts'
import { ToolRegistry } from './tool-registry.ts'
import { PACKAGE, packageOf } from './tool-view.ts'

const define = (name: string, rest: object = {}): ToolDefinition => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object' },
  implementation: { type: 'mock' },
  ...rest,
})

describe('ToolRegistry', () => {
  test('returns the registered objects', () => {
    const registry = new ToolRegistry()
    const [one, two] = [define('one'), define('two')]
    registry.register(one)
    registry.register(two)
    expect(registry.get('one')).toBe(one)
    expect(registry.list()).toEqual([one, two])
    expect([registry.has('one'), registry.has('three')]).toEqual([true, false])
    expect(registry.find('three')).toBeUndefined()
  })

  test('replaces a tool of the same name with a warning, and ignores the same object', () => {
    const log = captureLog()
    const registry = new ToolRegistry({ log })
    const [old, fresh] = [define('one'), define('one')]
    registry.register(old)
    registry.register(old)
    expect(log.lines).toHaveLength(0)
    registry.register(fresh)
    expect(registry.get('one')).toBe(fresh)
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { tool: 'one' } }])
  })

  test.each([[{}], [{ name: 'x' }], [{ name: '', description: 'x' }], [{ name: 'x', description: 7 }], [null], ['x']])(
    'refuses %j: name and description are missing',
    (tool) => {
      expect(() => new ToolRegistry().register(tool as never)).toThrow('Tool must have name and description')
    },
  )

  test.each([[undefined], [{}], [{ type: 'string' }], [[]], ['object']])(
    'refuses the parameters %j: they are no object schema',
    (parameters) => {
      expect(() => new ToolRegistry().register(define('x', { parameters }))).toThrow(
        'Tool parameters must be an object schema',
      )
    },
  )

  test.each([
    ['a Zod schema of something else', z.string(), 'must be an object schema'],
    [
      'a Standard Schema',
      { type: 'object', '~standard': { version: 1, vendor: 'valibot' } },
      'not a schema of valibot',
    ],
    [
      'a callable Standard Schema',
      Object.assign(() => {}, { '~standard': { vendor: 'arktype' } }),
      'not a schema of arktype',
    ],
    ['an older Zod schema', { type: 'object', _def: {} }, 'not a schema of zod'],
    [
      'a class instance',
      new (class Shape {
        type = 'object'
      })(),
      'not an instance of Shape',
    ],
  ])('U1 rejects %s in parameters', (_, parameters, message) => {
    expect(() => new ToolRegistry().register(define('forecast', { parameters }))).toThrow(message)
  })

  test('converts a Zod schema in parameters, and returns the tool unchanged', () => {
    const registry = new ToolRegistry()
    const tool = define('forecast', { parameters: z.object({ city: z.string() }) })
    registry.register(tool)
    expect(registry.get('forecast')).toBe(tool)
    expect(registry.definitions()).toMatchObject([
      {
        name: 'forecast',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ])
  })

  test('executes a tool with the executor of the registry', async () => {
    const registry = new ToolRegistry()
    registry.register(define('forecast'))
    expect(await registry.execute('forecast', {})).toMatchObject({
      success: false,
      error: expect.stringContaining('new ToolExecutor(registry)'),
    })
    const run: Kind = { effect: () => 'read', bind: () => () => () => 'sunny' }
    new ToolExecutor(registry, { kinds: { mock: run } })
    expect(await registry.execute('forecast', {})).toMatchObject({ success: true, result: 'sunny' })
  })

  test('keeps tools of packages out of the versions of other tools', () => {
    const log = captureLog()
    const registry = new ToolRegistry({ log })
    const of = (version: string, from?: string) => ({
      ...define('greet', { version }),
      ...(from && { [PACKAGE]: from }),
    })
    registry.register(of('1.0.0', 'a'))
    registry.register(of('1.1.0', 'a'))
    expect(registry.versionsOf('greet')).toHaveLength(2)
    registry.register(of('9.0.0', 'b'))
    expect(registry.versionsOf('greet')).toHaveLength(2)
    registry.register(of('0.1.0'))
    registry.register(of('9.0.0', 'a'))
    expect(registry.versionsOf('greet').map(({ version }) => version)).toEqual(['0.1.0'])
    expect(log.at('warn')).toMatchObject([{ package: 'b' }, { package: 'a' }, { package: 'a' }])
    // They come back in their order.
    registry.unregister('greet')
    expect(registry.versionsOf('greet').map(({ version }) => version)).toEqual(['1.0.0', '1.1.0', '9.0.0'])
    expect(registry.list().map(packageOf)).toEqual(['a'])
    registry.unregister('greet')
    expect(registry.list().map(packageOf)).toEqual(['b'])
  })

  test('marks a tool broken when a property holds a Zod schema', () => {
    const registry = new ToolRegistry({ log: captureLog() })
    registry.register(define('forecast', { parameters: { type: 'object', properties: { city: z.string() } } }))
    expect(registry.brokenReason('forecast')).toContain('which is not valid JSON')
  })

  test('accepts a schema without a prototype', () => {
    const registry = new ToolRegistry()
    registry.register(define('one', { parameters: Object.assign(Object.create(null), { type: 'object' }) }))
    expect(registry.brokenReason('one')).toBeUndefined()
  })

  test('lists a tool with an invalid schema as broken', () => {
    const registry = new ToolRegistry({ log: captureLog() })
    registry.register(define('bad', { parameters: { type: 'object', properties: { a: { $ref: 'http://x.test/y' } } } }))
    registry.register(define('good'))
    expect(registry.list()).toHaveLength(2)
    expect(registry.brokenReason('bad')).toContain('http://x.test/y')
    expect(registry.brokenReason('good')).toBeUndefined()
    registry.register(define('bad'))
    expect(registry.brokenReason('bad')).toBeUndefined()
  })

  test('drops the lc_name of a replaced tool', () => {
    const registry = new ToolRegistry()
    registry.register(define('plain', { lc_name: 'LangChainName' }))
    registry.register(define('plain'))
    expect(registry.find('LangChainName')).toBeUndefined()
  })

  test('finds a tool by its lc_name until it is removed', () => {
    const registry = new ToolRegistry()
    const tool = define('plain', { lc_name: 'LangChainName' })
    registry.register(tool)
    expect(registry.find('LangChainName')).toBe(tool)
    expect(registry.get('LangChainName')).toBeUndefined()
    expect(registry.unregister('plain')).toBe(true)
    expect(registry.unregister('plain')).toBe(false)
    expect(registry.find('LangChainName')).toBeUndefined()
  })

  test('notifies listeners of every change until they stop', () => {
    const registry = new ToolRegistry()
    const heard = vi.fn()
    const stop = registry.onChange(heard)
    registry.register(define('one'))
    registry.unregister('one')
    stop()
    registry.register(define('two'))
    expect(heard.mock.calls).toEqual([['one'], ['one']])
    expect(registry.version).toBe(3)
  })

  test('toProviderFormat returns the format of each provider, for all or the allowed tools', () => {
    const registry = new ToolRegistry()
    registry.register(define('one'))
    registry.register(define('two'))
    const plain = { name: 'one', description: 'The tool one.' }
    const parameters = { type: 'object' }
    expect(registry.toProviderFormat('openai')).toHaveLength(2)
    expect(registry.toProviderFormat('openai', ['one'])).toEqual([
      { type: 'function', function: { ...plain, parameters } },
    ])
    expect(registry.toProviderFormat('gemini', ['one'])).toEqual([{ ...plain, parameters }])
    expect(registry.toProviderFormat('anthropic', ['one'])).toEqual([{ ...plain, input_schema: parameters }])
    expect(registry.toProviderFormat('mcp', ['one'])).toEqual([{ ...plain, inputSchema: parameters }])
    expect(registry.toProviderFormat('openai', [])).toEqual([])
    expect(registry.toProviderFormat('openai', null as never)).toHaveLength(2)
    expect(() => registry.toProviderFormat('openai', 'one' as never)).toThrow(
      'The allowed tools must be an array of names, such as ["echo"], not "one"',
    )
    expect(() => registry.toProviderFormat('constructor')).toThrow('Unknown provider: constructor (known: openai, ')
  })
})

describe('a LangChain tool in the registry', () => {
  const invoke = async () => 'ran'
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  const langchain = (rest: object = {}) => ({
    name: 'search',
    description: 'Searches.',
    schema: parameters,
    invoke,
    ...rest,
  })

  test('is returned unchanged and always has the same definition', () => {
    const registry = new ToolRegistry()
    const [tool, ours] = [Object.freeze(langchain()), define('ours')]
    registry.register(tool)
    registry.register(ours)
    expect([registry.get('search'), ...registry.list()]).toEqual([tool, tool, ours])
    expect(registry.get('search')).toBe(tool)
    const [seen, same] = registry.definitions()
    expect(seen).toMatchObject({ name: 'search', description: 'Searches.', implementation: { type: 'langchain' } })
    expect(seen?.parameters).toBe(parameters)
    expect(same).toBe(ours)
    expect(registry.definitionOf(tool)).toBe(seen)
    expect(registry.toProviderFormat('mcp', ['search'])).toEqual([
      { name: 'search', description: 'Searches.', inputSchema: parameters },
    ])
  })

  test('is named by its lc_name if it has no name, and is found by both', () => {
    const registry = new ToolRegistry()
    const { name: _, ...nameless } = langchain({ lc_name: 'only' })
    const both = langchain({ lc_name: 'DocumentSearch' })
    registry.register(nameless)
    registry.register(both)
    expect(registry.get('only')).toBe(nameless)
    expect(registry.definitionOf(nameless).name).toBe('only')
    expect([registry.find('search'), registry.find('DocumentSearch')]).toEqual([both, both])
  })

  test('has its lc_name in the format of Ollama, and its name in others', () => {
    const registry = new ToolRegistry()
    registry.register(langchain({ lc_name: 'DocumentSearch' }))
    const names = ['ollama', 'openai'].map((provider) => Object(registry.toProviderFormat(provider)[0]).function.name)
    expect(names).toEqual(['DocumentSearch', 'search'])
  })

  test('may have a schema that converts itself to JSON Schema', () => {
    const registry = new ToolRegistry()
    const input = () => ({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...parameters })
    registry.register(langchain({ schema: { type: 'whatever', '~standard': { jsonSchema: { input } } } }))
    expect(registry.definitions()).toMatchObject([{ parameters }])
    expect(registry.definitions()[0]?.parameters).not.toHaveProperty('$schema')
  })

  test('uses convertSchema for other schemas', () => {
    const schema = { _def: {} }
    expect(() => new ToolRegistry().register(langchain({ schema }))).toThrow('Tool parameters must be an object schema')
    const registry = new ToolRegistry({ convertSchema: () => parameters })
    registry.register(langchain({ schema }))
    expect(registry.definitions()).toMatchObject([{ parameters }])
  })

  test.each([[undefined], [null], ['object'], [{ type: 'string' }], [[]]])(
    'is refused with the schema %j, as any tool without an object schema',
    (schema) => {
      expect(() => new ToolRegistry().register(langchain({ schema }))).toThrow(
        'Tool parameters must be an object schema',
      )
    },
  )

  test.each([[{ name: undefined }], [{ description: '' }]])('is refused with %j, like any tool', (rest) => {
    expect(() => new ToolRegistry().register(langchain(rest))).toThrow('Tool must have name and description')
  })

  test('gets a new definition when registered again', () => {
    const registry = new ToolRegistry()
    const tool = langchain()
    registry.register(tool)
    registry.unregister('search')
    tool.description = 'Searches better.'
    registry.register(tool)
    expect(registry.definitions()).toMatchObject([{ description: 'Searches better.' }])
  })
})

test.each(['parameters', 'implementation', 'approval'])('refuses a tool whose %s is nested too deeply', (key) => {
  const registry = new ToolRegistry()
  const tool = {
    ...{ name: 'deep', description: 'x', parameters: { type: 'object' }, implementation: { type: 'mock' } },
    [key]: JSON.parse('{"a":'.repeat(10_000) + '1'.concat('}'.repeat(10_000))),
  }
  expect(() => registry.register(tool)).toThrow(/^\w+\.a\.a.*is nested deeper than 512 levels.*\(tool 'deep'\)$/)
  expect(registry.list()).toEqual([])
})
