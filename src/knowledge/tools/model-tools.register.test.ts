import { describe, expect, test } from 'vitest'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { compileTools } from '../../models/dialects/compile-tools.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { Collections } from '../collections/collections.ts'
import { addKnowledgeHandlers, knowledgeDefinitions, modelTools, registerModelTools } from './model-tools.ts'

const parts = { model: async () => undefined, clock: new ManualClock() }
const collections = new Collections({
  store: async () => Promise.reject(new Error('not needed')),
  embedder: async () => undefined,
  log: silentLog,
  clock: parts.clock,
})
const NAMES = ['summarize', 'extract_entities', 'classify_intent', 'tag_chunk_docs']
const HANDLERS = [...NAMES, 'ingest_docs', 'rag_query']

const register = (registry: ToolRegistry, handlers: ToolHandlers) => {
  addKnowledgeHandlers(handlers, collections, parts)
  registerModelTools(registry, parts)
}

test('can register the tools twice', () => {
  const log = captureLog()
  const registry = new ToolRegistry({ log })
  const handlers = new ToolHandlers()
  register(registry, handlers)
  const { version } = registry
  register(registry, handlers)
  expect(registry.version).toBe(version)
  expect(registry.definitions().map(({ name }) => name)).toEqual(NAMES)
  expect(HANDLERS.filter((name) => handlers.get(name) === undefined)).toEqual([])
  expect(log.lines).toEqual([])
})

test('defines every tool by name', () => {
  expect([...knowledgeDefinitions(collections, parts).keys()]).toEqual([...NAMES, 'ingest_docs'])
})

test('replaces handlers of an earlier configuration', () => {
  const handlers = new ToolHandlers()
  register(new ToolRegistry(), handlers)
  const before = HANDLERS.map((name) => handlers.get(name))
  register(new ToolRegistry(), handlers)
  for (const [index, name] of HANDLERS.entries()) expect(handlers.get(name)).not.toBe(before[index])
})

test('keeps handlers of the host application', () => {
  const registry = new ToolRegistry()
  const handlers = new ToolHandlers()
  const own = () => 'short'
  const definition = {
    name: 'classify_intent',
    description: 'Ours.',
    parameters: { type: 'object' },
    implementation: { type: 'mock', mock_response: 1 },
  }
  handlers.register('summarize', own)
  handlers.register('rag_query', own)
  registry.register(definition)
  register(registry, handlers)
  expect(handlers.get('summarize')).toBe(own)
  expect(handlers.get('rag_query')).toBe(own)
  expect(registry.get('classify_intent')).toBe(definition)
  expect(registry.list()).toHaveLength(4)
})

describe.each(modelTools(parts).map(({ definition }) => [definition.name, definition] as const))('%s', (_, tool) => {
  test('is read-only with a timeout of 30 s', () => {
    expect(tool).toMatchObject({ effect: 'read', timeout_ms: 30_000, implementation: { type: 'builtin' } })
  })

  test('has valid defaults', () => {
    const { fillDefaults, check } = compileSchema(tool.parameters)
    const params = { text: 'a', content: 'a' }
    fillDefaults?.(params)
    expect(check?.(params)).toBe(true)
  })

  test.each(['openai', 'anthropic', 'gemini', 'ollama'] as const)('can be offered to models of %s', (dialect) => {
    expect(compileTools([tool], dialect)).toMatchObject({ tools: [{ name: tool.name }], omitted: [] })
  })
})
