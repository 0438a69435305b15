import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import { openCollector } from './fixtures/collector.ts'
import { opened } from './fixtures/opened.ts'
import { GEN_AI_CONVENTIONS } from './gen-ai-names.ts'
import { openTelemetry } from './open-telemetry.ts'

const REMOTE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('loads nothing without telemetry', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    `import { registerHooks } from 'node:module'
     registerHooks({ resolve(specifier, context, next) {
       const found = next(specifier, context)
       if (/@opentelemetry|prom-client/.test(found.url)) console.log(found.url)
       return found
     } })
     await import('${new URL('../index.ts', import.meta.url)}')
     const { openTelemetry } = await import('${new URL('./open-telemetry.ts', import.meta.url)}')
     console.log(await openTelemetry({}, {}))`,
  ])
  expect(stdout).toBe('undefined\n')
})

test.each([
  ['nothing is set', {}],
  ['the endpoint is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
  ['it is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' }],
  [
    'both kinds go nowhere',
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'none',
    },
  ],
])('there is no telemetry where %s', async (_, env) => {
  expect(await openTelemetry(env, { log: silentLog, version: '1' })).toBeUndefined()
})

describe('spans', () => {
  test('of calls have the names and the attributes of the conventions, and no contents', async () => {
    const collector = await openCollector()
    const { executor, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await executor.execute('echo', { secret: 'tulip' }, { tenant: 'acme', runId: 'run-1', traceparent: REMOTE })
    await executor.execute('broken', { secret: 'tulip' })
    await executor.execute(`made up ${'x'.repeat(500)}`, {})
    await close()
    const [echo, broken, unknown] = collector.spans
    expect(collector.spans).toHaveLength(3)
    expect(echo).toMatchObject({
      name: 'execute_tool echo',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      parentSpanId: '00f067aa0ba902b7',
      kind: 1,
      status: undefined,
      flags: 0x301,
      service: 'toolyard',
      schemaUrl: GEN_AI_CONVENTIONS.schemaUrl,
    })
    expect(echo?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
      'gen_ai.conversation.id': 'run-1',
      'toolyard.tenant': 'acme',
    })
    expect(broken).toMatchObject({ name: 'execute_tool broken', status: 2, parentSpanId: undefined })
    expect(broken?.attributes).toMatchObject({ 'error.type': 'EXECUTION_ERROR' })
    expect(unknown).toMatchObject({ name: 'execute_tool', attributes: { 'error.type': 'TOOL_NOT_FOUND' } })
    expect(String(unknown?.attributes['gen_ai.tool.name'])).toHaveLength(201)
    expect(collector.received.text).not.toContain('tulip')
  })

  test('of unknown tools have no keys in their names', async () => {
    const collector = await openCollector()
    const { executor, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    const key = `ty_${'aB3'.repeat(14)}x`
    for (const name of [key, `tool_${key}`, `${'t'.repeat(170)}_${key}`, key.toUpperCase()])
      await executor.execute(name, {})
    await close()
    expect(collector.received.text).toContain('tool_[redacted]')
    expect(collector.received.text).not.toMatch(/aB3aB3/i)
  })

  test('of a run, its turns and their calls are one trace', async () => {
    const collector = await openCollector()
    const { tracer, executor, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    const run = tracer.start('invoke_agent', 'support', undefined)
    const turn = tracer.start('chat', 'gemini:gemini-3-pro', run.traceparent)
    turn.end({ model: 'gemini:gemini-3-pro', finishReason: 'tool_calls', inputTokens: 120, outputTokens: 7 })
    await executor.execute('echo', {}, { traceparent: run.traceparent })
    run.end({ model: 'gemini:gemini-3-pro', finishReason: 'stop', inputTokens: 120, outputTokens: 7, cost: 0.25 })
    run.end({ errorType: 'twice' })
    await close()
    const named = Object.fromEntries(collector.spans.map((span) => [span.name, span]))
    const agent = named['invoke_agent support']
    const chat = named['chat gemini-3-pro']
    expect(Object.keys(named).sort()).toEqual(['chat gemini-3-pro', 'execute_tool echo', 'invoke_agent support'])
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(agent).toMatchObject({ parentSpanId: undefined, kind: 1, status: undefined })
    expect(agent?.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'support',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'gemini-3-pro',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 7,
      'toolyard.cost': 0.25,
    })
    // A client's span, and its parent is known to be in this process.
    expect(chat).toMatchObject({ parentSpanId: agent?.spanId, kind: 3, flags: 0x101 })
    expect(chat?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'gemini-3-pro',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 7,
    })
    expect(named['execute_tool echo']?.parentSpanId).toBe(agent?.spanId)
    // What ends twice has ended once.
    expect(collector.points.filter(({ metric }) => metric === 'gen_ai.invoke_agent.duration')).toMatchObject([
      { count: 1, attributes: { 'gen_ai.agent.name': 'support' } },
    ])
  })

  test.each(['true', 'SPAN_ONLY'])(
    'hold contents where that is switched on with %s, without secrets',
    async (value) => {
      const collector = await openCollector()
      const { executor, close } = await opened({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value,
      })
      await executor.execute('echo', { city: 'Oslo', password: 'tulip' })
      await executor.execute('broken', { city: 'Oslo' })
      await close()
      expect(collector.spans[0]?.attributes).toMatchObject({
        'gen_ai.tool.call.arguments': '{"city":"Oslo","password":"[redacted]"}',
        'gen_ai.tool.call.result': '{"city":"Oslo","password":"[redacted]"}',
      })
      expect(collector.spans[1]?.attributes).not.toHaveProperty('gen_ai.tool.call.result')
    },
  )

  test('that the caller or the sampler did not sample are not sent', async () => {
    const collector = await openCollector()
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const parented = await opened(env)
    await parented.executor.execute('echo', {}, { traceparent: REMOTE.replace(/01$/, '00') })
    await parented.close()
    const off = await opened({ ...env, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' })
    await off.executor.execute('echo', {})
    await off.executor.execute('echo', {}, { traceparent: REMOTE })
    await off.close()
    expect(collector.spans).toHaveLength(1)
    expect(collector.spans[0]?.parentSpanId).toBe('00f067aa0ba902b7')
  })

  test.each([
    ['nonsense'],
    [`${REMOTE}-more`],
    ['00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
    ['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['x'.repeat(100_000)],
  ])('of a call whose trace context is none begin a trace', async (traceparent) => {
    const collector = await openCollector()
    const { executor, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await executor.execute('echo', {}, { traceparent })
    await close()
    expect(collector.spans[0]?.parentSpanId).toBeUndefined()
  })

  test('are sent to the configured endpoint, with its headers and the service name', async () => {
    const collector = await openCollector()
    const { executor, close } = await opened({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b, x-team = blue',
      OTEL_SERVICE_NAME: 'yard-7',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    })
    await executor.execute('echo', {})
    await collector.until(() => collector.spans.length === 1)
    expect(collector.spans[0]?.service).toBe('yard-7')
    expect(collector.headers[0]).toMatchObject({ 'x-key': 'a b', 'x-team': 'blue', 'content-type': 'application/json' })
    await close()
    // There is no endpoint for metrics, so there are none.
    expect(collector.points).toEqual([])
  })
})

describe('metrics', () => {
  test('are those of the conventions', async () => {
    const collector = await openCollector()
    const { executor, tracer, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await executor.execute('echo', {})
    await executor.execute('echo', {})
    await executor.execute('broken', {})
    await executor.execute('made up', {})
    executor.flush()
    tracer.start('chat', 'openai:gpt-9', undefined).end({ inputTokens: 11, outputTokens: 5 })
    tracer.start('chat', 'openai:gpt-9', undefined).end({ errorType: '503' })
    tracer.start('invoke_agent', '', undefined).end({})
    await close()
    const of = (metric: string) =>
      collector.points
        .filter((point) => point.metric === metric)
        .map(({ attributes, count, sum }) => ({ ...attributes, n: count ?? sum }))
    expect(of('gen_ai.execute_tool.duration')).toEqual([
      { 'gen_ai.tool.name': 'echo', n: 2 },
      { 'gen_ai.tool.name': 'broken', 'error.type': 'EXECUTION_ERROR', n: 1 },
      { 'gen_ai.tool.name': '(unknown tools)', 'error.type': 'TOOL_NOT_FOUND', n: 1 },
    ])
    const model = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-9',
    }
    expect(of('gen_ai.client.inference.duration')).toEqual([
      { ...model, n: 1 },
      { ...model, 'error.type': '503', n: 1 },
    ])
    const counted = { ...model, 'gen_ai.token.modality': 'unknown' }
    expect(of('gen_ai.client.inference.usage.input_tokens')).toEqual([{ ...counted, n: 11 }])
    expect(of('gen_ai.client.inference.usage.output_tokens')).toEqual([{ ...counted, n: 5 }])
    expect(of('gen_ai.invoke_agent.duration')).toEqual([{ n: 1 }])
    const [first] = collector.points.filter(({ metric }) => metric === 'gen_ai.execute_tool.duration')
    expect(first?.bounds?.slice(0, 3)).toEqual([0.01, 0.02, 0.04])
  })

  test('without traces pass on the trace of the caller', async () => {
    const collector = await openCollector()
    const { tracer, close } = await opened({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics` })
    expect(tracer.start('execute_tool', 'echo', REMOTE).traceparent).toBe(REMOTE)
    expect(tracer.start('execute_tool', 'echo', undefined).traceparent).toBe('')
    expect(tracer.start('execute_tool', 'echo', 'nonsense').traceparent).toBe('')
    tracer.start('chat', 'own', REMOTE).end({})
    await close()
    expect(collector.spans).toEqual([])
    expect(collector.points[0]?.attributes).toMatchObject({
      'gen_ai.provider.name': 'unknown',
      'gen_ai.request.model': 'own',
    })
  })
})
