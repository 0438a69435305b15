import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ToolLoop } from '../../chat/tool-loop.ts'
import { systemClock } from '../../core/clock.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { AgentKind } from '../../kinds/composite/agent.ts'
import { HttpKind } from '../../kinds/http/http-kind.ts'
import { handlerKind, ToolHandlers } from '../../kinds/tool-handlers.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { kindContract } from '../../testing/kind-contract.ts'
import { scripted } from '../../testing/stand-ins.ts'

const define = (name: string, implementation: ToolDefinition['implementation'], more: object = {}): ToolDefinition => ({
  ...{ name, description: `The tool ${name}.`, parameters: { type: 'object' }, implementation, ...more },
})
const greet = define('greet', { type: 'internal', handler: 'greet' })
const greets = [{ calls: [{ name: 'greet', arguments: { word: 'you' } }] }, 'Hello you']

function open() {
  const registry = new ToolRegistry()
  const handlers = new ToolHandlers()
  handlers.register('greet', ({ word }) => `Hello ${word}`, { effect: 'read' })
  registry.register(greet)
  const internal = handlerKind('Internal', handlers)
  const executor = new ToolExecutor(registry, { kinds: { internal } })
  const model = scripted(...Array.from({ length: 5 }, () => greets).flat())
  const models = new ModelCatalogue(
    [{ name: 'scripted', model: () => model }],
    [{ id: model.id, name: 'Scripted', capabilities: [] }],
  )
  const http = new HttpKind({
    settings: { allow_private: ['127.0.0.1/32'] },
    env: {},
    log: silentLog,
    clock: systemClock,
  })
  const loop = new ToolLoop(registry, executor)
  const kind = new AgentKind({
    ...{ registry, clock: systemClock, installation: 'here', http, loop: () => loop, models: async () => models },
    ...{
      effectOf: () => 'read',
      calleesOf: (tool) => (tool.implementation.type === 'agent' ? kind.callees(tool) : undefined),
    },
  })
  return { kind, others: { tools: [greet], kinds: { internal } } }
}

describe('the kind agent', () => {
  const { kind, others } = open()
  const tool = define('tool', { type: 'agent', model: 'scripted:turns', tools: ['greet'] })
  const constant = (result: unknown) => ({ ...Object(result), run_id: 'any' })
  const result = { answer: 'Hello you', stop_reason: 'stop', run_id: 'any' }
  for (const clause of kindContract({ kind, tool, others, params: { task: 'Greet' }, result, constant })) {
    test(clause.name, () => clause.run())
  }
})

describe('the kind agent, on another server', () => {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ message: { content: 'Hello you' } }] }))
  })
  const { kind } = open()
  const remote = { type: 'agent', model: 'any', url: '' }
  const tool = define('tool', remote)
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    remote.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => void server.close())
  for (const clause of kindContract({ kind, tool, params: { task: 'Greet' }, result: 'Hello you' })) {
    test(clause.name, () => clause.run())
  }
})

describe('a definition is refused if', () => {
  const { kind } = open()
  test.each<[string, object, string]>([
    ['it has no model', { tools: ['greet'] }, 'model'],
    [
      'it is on another server and has tools',
      { model: 'm', url: 'http://x.test', tools: ['greet'] },
      "'tools' belongs to",
    ],
    ['it has a key without url', { model: 'm', api_key: 'x' }, "'api_key' needs url"],
    ['its prompt has an unknown parameter', { model: 'm', prompt: '{{wrod}}' }, "'wrod'. Did you mean 'word'?"],
  ])('%s', (_, implementation, problem) => {
    const parameters = { type: 'object', properties: { word: { type: 'string' } } }
    expect(kind.problem(define('bad', { type: 'agent', ...implementation }, { parameters }))).toContain(problem)
  })
})
