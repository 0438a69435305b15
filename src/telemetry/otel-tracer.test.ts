import { context, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  StackContextManager,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test } from 'vitest'
import { toolyard } from '../core/fixtures/code-yard.ts'
import { openTelemetryTracer } from './otel-tracer.ts'

/** An application that has set OpenTelemetry up for itself. */
function host() {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  context.setGlobalContextManager(new StackContextManager().enable())
  onTestFinished(() => context.disable())
  return { tracer: provider.getTracer('toolyard'), spans: () => exporter.getFinishedSpans() }
}

function yard(options: Parameters<typeof toolyard>[0]) {
  const { executor, add } = toolyard(options)
  add('echo', async (params) => params, { parameters: { type: 'object' } })
  return executor
}

test('adds spans below the active span of the host application', async () => {
  const { tracer, spans } = host()
  const executor = yard({ tracer: openTelemetryTracer(tracer) })
  const request = tracer.startSpan('GET /')
  await context.with(trace.setSpan(context.active(), request), () => executor.execute('echo', { city: 'Oslo' }))
  request.end()
  const [call, above] = spans()
  expect(call).toMatchObject({ name: 'execute_tool echo', parentSpanContext: { spanId: above?.spanContext().spanId } })
  expect(call?.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'echo',
    'toolyard.tenant': 'local',
  })
})

test('records contents only if the host application enables them', async () => {
  const { tracer, spans } = host()
  await yard({ tracer: openTelemetryTracer(tracer, { contents: true }) }).execute('echo', { city: 'Oslo' })
  expect(spans()[0]?.attributes).toMatchObject({ 'gen_ai.tool.call.arguments': '{"city":"Oslo"}' })
})

test('a tracer without a provider does not change calls', async () => {
  const executor = yard({ tracer: openTelemetryTracer(trace.getTracer('toolyard')) })
  expect(await executor.execute('echo', { city: 'Oslo' })).toMatchObject({ success: true, result: { city: 'Oslo' } })
})
