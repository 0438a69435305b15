import { describe, expect, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { compileTools } from '../../models/dialects/compile-tools.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { Collections } from '../collections/collections.ts'
import { addKnowledgeHandlers, knowledgeDefinitions, modelTools } from './model-tools.ts'

const parts = { model: async () => undefined, clock: new ManualClock() }
const collections = new Collections({
  store: async () => Promise.reject(new Error('not needed')),
  embedder: async () => undefined,
  log: silentLog,
  clock: parts.clock,
})
const NAMES = ['summarize', 'extract_entities', 'classify_intent', 'tag_chunk_docs']
const HANDLERS = [...NAMES, 'ingest_docs', 'rag_query']

const register = (handlers: ToolHandlers) => addKnowledgeHandlers(handlers, collections, parts)

test('defines every tool by name', () => {
  expect([...knowledgeDefinitions(collections, parts).keys()]).toEqual([...NAMES, 'ingest_docs'])
})

test('replaces handlers of an earlier configuration', () => {
  const handlers = new ToolHandlers()
  register(handlers)
  expect(HANDLERS.filter((name) => handlers.get(name) === undefined)).toEqual([])
  const before = HANDLERS.map((name) => handlers.get(name))
  register(handlers)
  for (const [index, name] of HANDLERS.entries()) expect(handlers.get(name)).not.toBe(before[index])
})

test('keeps handlers of the host application', () => {
  const handlers = new ToolHandlers()
  const own = () => 'short'
  handlers.register('summarize', own)
  handlers.register('rag_query', own)
  register(handlers)
  expect(handlers.get('summarize')).toBe(own)
  expect(handlers.get('rag_query')).toBe(own)
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
