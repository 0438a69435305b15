import { describe, expect, test } from 'vitest'
import { toolView } from '../core/execution/tool-view.ts'
import type { Implementation, ToolDefinition } from '../core/tool.ts'
import { kindContract } from '../testing/kind-contract.ts'
import { kinds } from './kinds.ts'
import { isolated, ToolHandlers } from './tool-handlers.ts'

const define = (implementation: Implementation): ToolDefinition => ({
  name: 'tool',
  description: 'A tool.',
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
  implementation,
})

const handlers = new ToolHandlers()
handlers.register('greet', async ({ word }) => ({ greeting: `Hello ${word}`, letters: [...String(word)] }))
const table = kinds(handlers)
const greeting = { greeting: 'Hello you', letters: ['y', 'o', 'u'] }
const params = { word: 'you' }

const underTest = {
  mock: {
    tool: define({ type: 'mock', mock_response: { any: ['json', 1, null] } }),
    result: { any: ['json', 1, null] },
  },
  builtin: {
    tool: define({ type: 'builtin', handler: 'greet' }),
    result: greeting,
    lacking: { tool: define({ type: 'builtin', handler: 'nobody' }), error: "Builtin handler 'nobody' not found" },
  },
  internal: {
    tool: define({ type: 'internal', handler: 'greet' }),
    result: greeting,
    lacking: { tool: define({ type: 'internal', handler: 'nobody' }), error: "Internal handler 'nobody' not found" },
  },
  langchain: {
    tool: toolView({
      name: 'tool',
      description: 'A tool.',
      schema: { type: 'object', properties: { word: { type: 'string' } } },
      invoke: async ({ word }: { word: string }) => ({ greeting: `Hello ${word}`, letters: [...word] }),
    }),
    result: greeting,
    lacking: {
      tool: define({ type: 'langchain' }),
      error: 'LangChain tools are registered in code: pass the tool itself to ToolRegistry.register',
    },
  },
}

test('every kind in the table is under contract', () => {
  expect(Object.keys(underTest)).toEqual(Object.keys(table))
})

describe.each(Object.entries(underTest))('the kind %s', (name, one) => {
  const kind = table[name]
  if (kind === undefined) throw new Error(`no kind ${name}`)
  for (const clause of kindContract({ kind, params, ...one })) test(clause.name, () => clause.run())
})

describe('ToolHandlers', () => {
  test('runs a handler that is registered or replaced after its tool', () => {
    const late = new ToolHandlers()
    const resolve = kinds(late).internal?.bind(define({ type: 'internal', handler: 'late' }))
    expect(() => resolve?.()).toThrow("Internal handler 'late' not found")
    const [first, second] = [() => 1, () => 2]
    late.register('late', first)
    expect(resolve?.()).toBe(first)
    late.register('late', second)
    expect(resolve?.()).toBe(second)
    expect(late.get('late')).toBe(second)
  })

  test('gives an isolated handler the network that its tool or it asks for', () => {
    const url = new URL('./x.ts', import.meta.url)
    const some = new ToolHandlers()
    some.register('x', isolated(url, 'run'))
    some.register('open', isolated(url, 'run', { network: true }))
    const networkOf = (handler: string, more: object = {}) =>
      Object(kinds(some).internal?.bind(define({ type: 'internal', handler, ...more }))?.()).network
    expect(networkOf('x')).toBeUndefined()
    expect(networkOf('x', { network: true })).toBe(true)
    expect(networkOf('open')).toBe(true)
    expect(networkOf('open', { network: false })).toBe(false)
    expect(networkOf('x', { network: 'yes' })).toBe(false)
  })

  test('warns about network of a handler that is not isolated', () => {
    const some = new ToolHandlers()
    some.register('here', () => 1)
    const { internal } = kinds(some)
    expect(internal?.warning?.(define({ type: 'internal', handler: 'here', network: false }))).toBe(
      "implementation.network has no effect: the handler 'here' is not isolated",
    )
    expect(internal?.warning?.(define({ type: 'internal', handler: 'here' }))).toBeUndefined()
  })

  test('refuses options of isolated() that do not exist', () => {
    const url = new URL('./x.ts', import.meta.url)
    expect(() => isolated(url, 'run', { net: true } as object)).toThrow('isolated: unknown option "net"')
    expect(() => isolated(url, 'run', null as never)).toThrow('isolated: options must be an object, not null')
    const shred = { shred: true } as object
    expect(() => new ToolHandlers().register('x', () => 1, shred)).toThrow('register: unknown option "shred"')
    expect(() => isolated(url, 'run', { network: 1 } as object)).toThrow('network must be true or false, not 1')
  })

  test('takes functions and isolated handlers, and nothing else', () => {
    const one = new ToolHandlers()
    expect(() => one.register('x', 'no' as never)).toThrow("Handler 'x' must be a function")
    one.register('x', isolated(new URL('./x.ts', import.meta.url), 'run'))
    expect(one.get('x')).toMatchObject({ export: 'run' })
    expect(() => isolated('http://example.test/x.js', 'run')).toThrow('needs a file: URL')
  })
})
