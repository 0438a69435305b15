import type { Service } from './service.ts'

const OPEN = { closed: 0, half_open: 0.5, open: 1 } as const

/** Shows the state of the server among the Prometheus figures of the whole installation. */
export function addGauges({ prometheus, installation, streams, traffic }: Service): void {
  const { sink, storage } = installation
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    prometheus.gauge({ name: `toolyard_${name}`, help, read })
  gauge('audit_dropped_records', 'Records that were lost for want of room since the start.', () => sink.dropped)
  gauge('store_ready', 'Whether the store can be used.', async () => ((await storage.status()).ready ? 1 : 0))
  gauge('open_streams', 'Streams of events that are open.', () => streams.size)
  gauge('running_calls', 'Tool calls of requests that are running.', () => traffic.calls.size)
  prometheus.toolGauge({
    name: 'toolyard_tool_circuit_open',
    help: 'Whether the service behind a tool is left alone because it failed: 1, or 0.5 while it is tried again.',
    *read() {
      for (const [tool, { state }] of installation.manager.getExecutor().circuits()) yield [tool, OPEN[state]]
    },
  })
}
