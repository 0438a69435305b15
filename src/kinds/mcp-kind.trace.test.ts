import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toolyard } from '../core/fixtures/code-yard.ts'
import { silentLog } from '../core/log.ts'
import { COMPILE_CACHE } from '../mcp/fixtures/compile-cache.ts'
import { serveHttp } from '../mcp/server/fixtures/serve-http.ts'
import { ToolServer } from '../mcp/server/tool-server.ts'
import { openCollector } from '../telemetry/fixtures/collector.ts'
import { openTelemetry } from '../telemetry/open-telemetry.ts'
import { mcpYard } from './fixtures/mcp-yard.ts'

const SERVER = fileURLToPath(new URL('fixtures/mcp-traced-server.ts', import.meta.url))

const settings = (url: string, service: string) => ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
  OTEL_SERVICE_NAME: service,
  OTEL_BSP_SCHEDULE_DELAY: '20',
})

async function telemetryOf(url: string, service: string) {
  const telemetry = await openTelemetry(settings(url, service), { log: silentLog, version: '1' })
  if (telemetry === undefined) throw new Error('There is no telemetry')
  onTestFinished(() => telemetry.close())
  return telemetry
}

type Collector = Awaited<ReturnType<typeof openCollector>>

/** What was called here and what ran there are one trace, the one below the other. */
async function expectOneTrace(collector: Collector): Promise<void> {
  await collector.until(() => collector.spans.length >= 2)
  const here = collector.spans.find(({ service }) => service === 'here')
  const there = collector.spans.find(({ service }) => service === 'there')
  expect(here).toMatchObject({ name: 'execute_tool echo', parentSpanId: undefined })
  expect(there).toMatchObject({ name: 'execute_tool echo', traceId: here?.traceId, parentSpanId: here?.spanId })
}

describe('a call of a tool of an MCP server is one trace', () => {
  test('over two processes, over standard input and output', async () => {
    const collector = await openCollector()
    const { tracer } = await telemetryOf(collector.url, 'here')
    const env = settings(collector.url, 'there')
    const far = { type: 'stdio', command: process.execPath, args: [SERVER], env: { ...COMPILE_CACHE, ...env } } as const
    const { mcp, call } = mcpYard({ far }, { tracer })
    await mcp.start()
    expect(await call('echo', { text: 'hi' })).toMatchObject({ success: true, result: 'said hi' })
    await expectOneTrace(collector)
  })

  test('over HTTP', async () => {
    const collector = await openCollector()
    const [here, there] = await Promise.all([telemetryOf(collector.url, 'here'), telemetryOf(collector.url, 'there')])
    const { registry, executor, add } = toolyard({ tracer: there.tracer })
    add('echo', async ({ text }) => `said ${text}`)
    const service = await serveHttp(new ToolServer({ registry, executor, version: '1' }), { port: 0 })
    onTestFinished(() => service.close())
    const reach = { type: 'auto', url: service.url, headers: {}, fetch } as const
    const { mcp, call } = mcpYard({ web: reach }, { tracer: here.tracer })
    await mcp.start()
    expect(await call('echo', { text: 'hi' })).toMatchObject({ success: true, result: 'said hi' })
    await expectOneTrace(collector)
  })
})
