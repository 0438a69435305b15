import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { captureLog } from '../testing/capture-log.ts'
import type { ToolDefinition } from './tool.ts'
import { ToolRegistry } from './tool-registry.ts'

const define = (name: string, rest: object = {}): ToolDefinition => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object' },
  implementation: { type: 'mock' },
  ...rest,
})

describe('ToolRegistry', () => {
  test('hands out the very objects registered', () => {
    const registry = new ToolRegistry()
    const [one, two] = [define('one'), define('two')]
    registry.register(one)
    registry.register(two)
    expect(registry.get('one')).toBe(one)
    expect(registry.list()).toEqual([one, two])
    expect([registry.has('one'), registry.has('three')]).toEqual([true, false])
    expect(registry.find('three')).toBeUndefined()
  })

  test('the same name again warns and replaces; the same object again does neither', () => {
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
    ['a Zod schema', z.object({ city: z.string() }), 'not a schema of zod'],
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
  ])('rejects %s in parameters', (_, parameters, message) => {
    expect(() => new ToolRegistry().register(define('forecast', { parameters }))).toThrow(message)
  })

  test('marks a tool broken when a property holds a Zod schema', () => {
    const registry = new ToolRegistry({ log: captureLog() })
    registry.register(define('forecast', { parameters: { type: 'object', properties: { city: z.string() } } }))
    expect(registry.brokenReason('forecast')).toContain('which JSON does not have')
  })

  test('accepts a schema without a prototype', () => {
    const registry = new ToolRegistry()
    registry.register(define('one', { parameters: Object.assign(Object.create(null), { type: 'object' }) }))
    expect(registry.brokenReason('one')).toBeUndefined()
  })

  test('a schema that is refused makes its tool broken, listed, and stops no other', () => {
    const registry = new ToolRegistry({ log: captureLog() })
    registry.register(define('bad', { parameters: { type: 'object', properties: { a: { $ref: 'http://x.test/y' } } } }))
    registry.register(define('good'))
    expect(registry.list()).toHaveLength(2)
    expect(registry.brokenReason('bad')).toContain('http://x.test/y')
    expect(registry.brokenReason('good')).toBeUndefined()
    registry.register(define('bad'))
    expect(registry.brokenReason('bad')).toBeUndefined()
  })

  test('an lc_name goes with its tool when another takes the name', () => {
    const registry = new ToolRegistry()
    registry.register(define('plain', { lc_name: 'LangChainName' }))
    registry.register(define('plain'))
    expect(registry.find('LangChainName')).toBeUndefined()
  })

  test('a tool with an lc_name is found by it, until it is taken out', () => {
    const registry = new ToolRegistry()
    const tool = define('plain', { lc_name: 'LangChainName' })
    registry.register(tool)
    expect(registry.find('LangChainName')).toBe(tool)
    expect(registry.get('LangChainName')).toBeUndefined()
    expect(registry.unregister('plain')).toBe(true)
    expect(registry.unregister('plain')).toBe(false)
    expect(registry.find('LangChainName')).toBeUndefined()
  })

  test('listeners hear of every change, until they stop', () => {
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

  test('toProviderFormat gives each provider its shape, of all tools or of those allowed', () => {
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
    expect(() => registry.toProviderFormat('constructor')).toThrow('Unknown provider: constructor (known: openai, ')
  })
})

describe('a tool of LangChain in the registry', () => {
  const invoke = async () => 'ran'
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  const langchain = (rest: object = {}) => ({
    name: 'search',
    description: 'Searches.',
    schema: parameters,
    invoke,
    ...rest,
  })

  test('is handed out as it is, and seen as one and the same definition', () => {
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

  test('goes by its lc_name where it has no name, and is found by both where it has two', () => {
    const registry = new ToolRegistry()
    const { name: _, ...nameless } = langchain({ lc_name: 'only' })
    const both = langchain({ lc_name: 'DocumentSearch' })
    registry.register(nameless)
    registry.register(both)
    expect(registry.get('only')).toBe(nameless)
    expect(registry.definitionOf(nameless).name).toBe('only')
    expect([registry.find('search'), registry.find('DocumentSearch')]).toEqual([both, both])
  })

  test('may describe itself by a schema that can put itself as JSON Schema', () => {
    const registry = new ToolRegistry()
    const input = () => ({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...parameters })
    registry.register(langchain({ schema: { type: 'whatever', '~standard': { jsonSchema: { input } } } }))
    expect(registry.definitions()).toMatchObject([{ parameters }])
    expect(registry.definitions()[0]?.parameters).not.toHaveProperty('$schema')
  })

  test('is converted by what the registry was given for schemas that cannot', () => {
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

  test.each([[{ name: undefined }], [{ description: '' }]])('is refused with %j, as any tool', (rest) => {
    expect(() => new ToolRegistry().register(langchain(rest))).toThrow('Tool must have name and description')
  })

  test('is seen anew when it is registered again after it was taken out', () => {
    const registry = new ToolRegistry()
    const tool = langchain()
    registry.register(tool)
    registry.unregister('search')
    tool.description = 'Searches better.'
    registry.register(tool)
    expect(registry.definitions()).toMatchObject([{ description: 'Searches better.' }])
  })
})
