import { describe, expect, test, vi } from 'vitest'
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
