import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { compileTools } from '../../models/dialects/compile-tools.ts'
import { captureLog } from '../../testing/capture-log.ts'
import { ManualClock } from '../../testing/manual-clock.ts'
import { modelTools } from './model-tools.ts'
import { registerKnowledgeTools } from './register-knowledge-tools.ts'

const parts = { model: async () => undefined, clock: new ManualClock() }
const NAMES = ['summarize', 'extract_entities', 'classify_intent', 'tag_chunk_docs']

test('the tools are there, and running it twice changes nothing and warns of nothing', () => {
  const log = captureLog()
  const registry = new ToolRegistry({ log })
  const handlers = new ToolHandlers()
  registerKnowledgeTools(registry, handlers, parts)
  const before = [registry.version, ...NAMES.map((name) => handlers.get(name))]
  registerKnowledgeTools(registry, handlers, parts)
  expect([registry.version, ...NAMES.map((name) => handlers.get(name))]).toEqual(before)
  expect(registry.definitions().map(({ name }) => name)).toEqual(NAMES)
  expect(log.lines).toEqual([])
})

test('what the host application has put there stays', () => {
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
  registry.register(definition)
  registerKnowledgeTools(registry, handlers, parts)
  expect(handlers.get('summarize')).toBe(own)
  expect(registry.get('classify_intent')).toBe(definition)
  expect(registry.list()).toHaveLength(4)
})

describe.each(modelTools(parts).map(({ definition }) => [definition.name, definition] as const))('%s', (_, tool) => {
  test('only reads, within 30 s', () => {
    expect(tool).toMatchObject({ effect: 'read', timeout_ms: 30_000, implementation: { type: 'builtin' } })
  })

  test('fills its defaults, which fit its own schema', () => {
    const { fillDefaults, check } = compileSchema(tool.parameters)
    const params = { text: 'a', content: 'a' }
    fillDefaults?.(params)
    expect(check?.(params)).toBe(true)
  })

  test.each(['openai', 'anthropic', 'gemini', 'ollama'] as const)('can be offered to models of %s', (dialect) => {
    expect(compileTools([tool], dialect)).toMatchObject({ tools: [{ name: tool.name }], omitted: [] })
  })
})
