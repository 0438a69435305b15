import type { StructuredTool } from '@langchain/core/tools'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { generateText, isStepCount, streamText, type ToolSet } from 'ai'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { toAiSdk } from '../src/library/ai-sdk.ts'
import { toLangChain } from '../src/library/to-langchain.ts'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { asked, chunksOf, message, post } from '../src/server/fixtures/ui-chat.ts'
import { clientOf, completionOf, chunksOf as openAiChunksOf } from '../src/server/openai/fixtures/openai-client.ts'
import type { GivenTurn } from '../src/testing/stand-ins.ts'

vi.setConfig({ testTimeout: 60_000 })

const define = (name: string, implementation: object, more: object = {}) => ({
  ...{ name, description: name, parameters: { type: 'object' }, implementation, ...more },
})
const internal = (name: string, more: object = {}) => define(name, { type: 'internal', handler: name }, more)
const agent = { type: 'agent', model: 'scripted:turns', tools: ['look', 'fail', 'note', 'pay'] }
const CODE = 'const { seen } = await tools.look({ what: "sea" }); return seen'
const FAILS = 'await tools.look({ what: "sea" })\nawait tools.fail({})'
const calls = (name: string, params: object = {}): GivenTurn => ({ calls: [{ name, arguments: params, id: 'm1' }] })

/** A server with a pipeline, an agent and code mode, each of which can succeed, fail in a step and need approval. */
async function open(turns: readonly GivenTurn[] = []) {
  const [look, fail] = [
    ({ what }: { what?: unknown }) => ({ seen: what }),
    () => Promise.reject(new Error('The boat sank')),
  ]
  const [pay, note] = [vi.fn(() => 'paid'), vi.fn(() => 'noted')]
  const seen = { id: 'seen', tool: 'look', params: { what: 'sea' } }
  const after = (id: string, tool: string, before: string) => ({ id, tool, params: { x: { $: `$.steps.${before}` } } })
  const pipeline = (...steps: object[]) => ({ type: 'pipeline', steps })
  const registry = [
    ...[internal('look', { effect: 'read' }), internal('fail'), internal('note'), internal('pay', { approval: true })],
    define('view', pipeline(seen, after('again', 'look', 'seen')), { parameters: { type: 'object' } }),
    define('sail', pipeline(seen, after('boat', 'fail', 'seen'))),
    define('order', pipeline({ id: 'noted', tool: 'note' }, after('paid', 'pay', 'noted'))),
    define('helper', agent, { parameters: { type: 'object', properties: { task: { type: 'string' } } } }),
  ]
  const config = { tools: { enabled: true, registry, code_mode: { enabled: true, tools: ['look', 'fail'] } } }
  const server = await openScriptedServer([...turns, 'Done.'], {
    ...{ tools: { look, fail, pay, note } as never, config: config as never },
  })
  const { installation } = server
  const by = { id: 'local', name: 'local', source: 'cli' } as const
  const approve = async () => {
    const { pauses } = await installation.storage.pauses.list({
      tenant: 'local',
      status: 'pending',
      now: Date.now(),
      limit: 9,
    })
    expect(pauses).toHaveLength(1)
    await installation.approvals.decide('local', pauses[0]?.id ?? '', { decision: 'approve' }, by)
  }
  return { ...server, approve, pay, note, manager: installation.manager }
}

const STEP_FAILED = "Step 'boat' failed: The boat sank"

describe('an MCP client', () => {
  async function connect(turns: readonly GivenTurn[] = []) {
    const server = await open(turns)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)))
    onTestFinished(() => client.close())
    const heard: unknown[] = []
    const onprogress = (progress: unknown) => void heard.push(progress)
    const call = (name: string, params: Record<string, unknown> = {}) =>
      client.callTool({ name, arguments: params }, { onprogress })
    return { ...server, call, heard }
  }

  test('calls a pipeline, with the progress of its steps', async () => {
    const { call, heard } = await connect()
    expect(await call('view')).toMatchObject({ structuredContent: {} })
    expect(heard).toEqual([
      { progress: 0.5, total: 2, message: "Step 'seen': running" },
      { progress: 1, total: 2, message: "Step 'seen': done" },
      { progress: 1.5, total: 2, message: "Step 'again': running" },
      { progress: 2, total: 2, message: "Step 'again': done" },
    ])
    expect(await call('sail')).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: STEP_FAILED }],
      structuredContent: { details: { steps: [{ status: 'done' }, { id: 'boat', status: 'failed' }] } },
    })
  })

  test('calls an agent and code, with the progress of their calls', async () => {
    const { call, heard } = await connect([calls('look', { what: 'sky' }), 'Blue.', calls('fail'), 'It sank.'])
    expect(await call('helper', { task: 'Look' })).toMatchObject({ structuredContent: { answer: 'Blue.' } })
    expect(await call('helper', { task: 'Sail' })).toMatchObject({ structuredContent: { answer: 'It sank.' } })
    expect(heard).toMatchObject([{ message: 'look: done' }, { message: 'fail: failed' }])
    expect(await call('run_code', { code: CODE })).toMatchObject({ structuredContent: { result: 'sea' } })
    expect(heard.slice(2)).toMatchObject([{ message: 'Call 1, look: running' }, { message: 'Call 1, look: done' }])
    expect(await call('run_code', { code: FAILS })).toMatchObject({
      isError: true,
      content: [{ text: 'EXECUTION_ERROR: The boat sank (line 2)' }],
    })
  })

  test('repeats a pipeline when its step was approved, and nothing runs twice', async () => {
    const { call, approve, pay, note } = await connect()
    expect(await call('order')).toMatchObject({ structuredContent: { error_code: 'APPROVAL_REQUIRED' } })
    expect(await call('order')).toMatchObject({ structuredContent: { error_code: 'APPROVAL_REQUIRED' } })
    await approve()
    expect(await call('order')).toMatchObject({ content: [{ text: 'paid' }] })
    expect([note.mock.calls.length, pay.mock.calls.length]).toEqual([1, 1])
  })
})

test('tools of LangChain', async () => {
  const { manager, approve, note, pay } = await open([calls('look', { what: 'sky' }), 'Blue.'])
  const tools = await toLangChain<StructuredTool>(manager, undefined, { caller: 'ada' })
  const invoke = async (name: string, args: object = {}, config: object = {}) => {
    const call = { type: 'tool_call' as const, id: 'call_1', name, args }
    return tools.find((tool) => tool.name === name)?.invoke(call, config)
  }
  const heard: unknown[] = []
  const handleToolEvent = (chunk: unknown) => void heard.push(chunk)
  expect(await invoke('view', {}, { callbacks: [{ handleToolEvent }] })).toMatchObject({ content: '{}' })
  await expect.poll(() => heard).toMatchObject([{ progress: 0.5 }, { progress: 1 }, { progress: 1.5 }, { progress: 2 }])
  expect(await invoke('sail')).toMatchObject({ status: 'error', content: STEP_FAILED })
  expect(await invoke('helper', { task: 'Look' })).toMatchObject({ artifact: { result: { answer: 'Blue.' } } })
  expect(await invoke('run_code', { code: CODE })).toMatchObject({ artifact: { result: { result: 'sea' } } })
  expect(await invoke('run_code', { code: FAILS })).toMatchObject({ content: expect.stringContaining('(line 2)') })
  expect(await invoke('order')).toMatchObject({ status: 'error', content: expect.stringContaining('approval') })
  await approve()
  expect(await invoke('order')).toMatchObject({ content: 'paid' })
  expect([note.mock.calls.length, pay.mock.calls.length]).toEqual([1, 1])
})

test('tools of the AI SDK', async () => {
  const { manager, approve, note, pay } = await open([calls('look', { what: 'sky' }), 'Blue.'])
  const yard = { executor: manager.getExecutor() } as never
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  /** A model that calls the tool. */
  const caller = (toolName: string, input: object) => {
    const call = { type: 'tool-call', toolCallId: toolName, toolName, input: JSON.stringify(input) } as const
    const end = { finishReason: { unified: 'tool-calls', raw: undefined }, usage } as const
    return new MockLanguageModelV4({
      doGenerate: { content: [call], ...end, warnings: [] },
      doStream: { stream: convertArrayToReadableStream([call, { type: 'finish', ...end }]) },
    })
  }
  const given = (progress: boolean) => toAiSdk(yard, { progress, user: 'ada' }) as ToolSet
  const called = async (name: string, input: object = {}) => {
    const stopWhen = isStepCount(1)
    const { steps } = await generateText({ model: caller(name, input), tools: given(false), prompt: 'Go', stopWhen })
    return steps[0]?.content[1]
  }
  const seen: unknown[] = []
  const stopWhen = isStepCount(1)
  for await (const part of streamText({ model: caller('view', {}), tools: given(true), prompt: 'Go', stopWhen })
    .stream) {
    if (part.type === 'tool-result') seen.push(part.output)
  }
  expect(seen).toMatchObject([{ progress: 0.5 }, { progress: 1 }, { progress: 1.5 }, { progress: 2 }, {}, {}])
  expect(await called('sail')).toMatchObject({ type: 'tool-error', error: { message: STEP_FAILED } })
  expect(await called('helper', { task: 'Look' })).toMatchObject({ output: { answer: 'Blue.' } })
  expect(await called('run_code', { code: CODE })).toMatchObject({ output: { result: 'sea' } })
  expect(await called('run_code', { code: FAILS })).toMatchObject({ type: 'tool-error' })
  expect(await called('order')).toMatchObject({ type: 'tool-error', error: { code: 'APPROVAL_REQUIRED' } })
  await approve()
  expect(await called('order')).toMatchObject({ output: 'paid' })
  expect([note.mock.calls.length, pay.mock.calls.length]).toEqual([1, 1])
})

test('a chat of the AI SDK', async () => {
  const { url } = await open([
    calls('view'),
    calls('sail'),
    calls('helper', { task: 'Look' }),
    'Blue.',
    calls('run_code', { code: CODE }),
  ])
  const chunks = await chunksOf(await post(url, asked(message('Go'))))
  const types = (type: string) => chunks.filter((chunk) => chunk.type === type)
  expect(types('data-toolyard-progress').slice(0, 2)).toMatchObject([
    { data: { toolName: 'view', progress: { message: "Step 'seen': running" } } },
    { data: { progress: { message: "Step 'seen': done" } } },
  ])
  expect(types('tool-output-available')).toMatchObject([
    {},
    { output: { answer: 'Blue.' } },
    { output: { result: 'sea' } },
  ])
  expect(types('tool-output-error')).toMatchObject([{ errorText: STEP_FAILED }])
})

test('the OpenAI endpoint', async () => {
  const turns = [
    calls('view'),
    calls('sail'),
    calls('helper', { task: 'Look' }),
    'Blue.',
    calls('run_code', { code: CODE }),
  ]
  const { url, model } = await open(turns)
  const chunks = await openAiChunksOf(clientOf(url))
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Done.')
  const told = model.requests.at(-1)?.messages.flatMap((one) => (one.role === 'tool' ? [String(one.content)] : []))
  expect(told).toMatchObject([
    expect.stringContaining('{}'),
    expect.stringContaining(STEP_FAILED),
    expect.stringContaining('Blue.'),
    expect.stringContaining('sea'),
  ])
  const waiting = await open([calls('order')])
  expect(await completionOf(clientOf(waiting.url))).toMatchObject({
    toolyard: { status: 'waiting', stop_reason: 'approval_required', approvals: [{ tool: 'order' }] },
  })
})
