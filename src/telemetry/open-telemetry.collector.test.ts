import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { openCollector } from './fixtures/collector.ts'
import { opened } from './fixtures/opened.ts'

describe('a collector', () => {
  test('that refuses data is logged once, and once when it recovers', async () => {
    const collector = await openCollector(401)
    const { executor, log } = await opened({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
      OTEL_BSP_SCHEDULE_DELAY: '5',
    })
    for (let sent = 1; sent <= 3; sent++) {
      expect(await executor.execute('echo', {})).toMatchObject({ success: true })
      await collector.until(() => collector.headers.length === sent)
    }
    collector.behave('takes')
    while (collector.spans.length === 0) {
      await executor.execute('echo', {})
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await expect.poll(() => log.lines.length).toBe(2)
    expect(log.lines).toEqual([
      {
        level: 'warn',
        message: 'The OpenTelemetry collector does not accept data; spans and metrics are dropped',
        fields: { signal: 'traces', collector: collector.url, reason: 'status 401' },
      },
      {
        level: 'info',
        message: 'The OpenTelemetry collector accepts data again',
        fields: { signal: 'traces', collector: collector.url },
      },
    ])
  })

  test('that is unreachable is logged with its error code, without addresses', async () => {
    const url = await deadUrl()
    const { executor, log, close } = await opened({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    })
    await executor.execute('echo', {})
    await close()
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      { signal: 'traces', collector: new URL(url).origin, reason: 'ECONNREFUSED' },
    ])
  })

  test('that hangs delays the end by two seconds at most', async () => {
    const collector = await openCollector('hangs')
    const { executor, log, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    for (let call = 0; call < 5_000; call++) expect((await executor.execute('echo', {})).success).toBe(true)
    await close()
    expect(log.lines).toContainEqual({
      level: 'warn',
      message: 'The last telemetry could not be sent in time and is lost',
      fields: { limit_ms: 2_000 },
    })
  })
})

/** An address where nobody listens any more. */
async function deadUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/v1/traces`
}
