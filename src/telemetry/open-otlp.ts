import { randomUUID } from 'node:crypto'
import * as api from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { systemClock, within } from '../core/clock.ts'
import { connectionCode } from '../core/failure.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { RecordSink } from '../core/records/recorder.ts'
import type { Tracer } from '../core/records/tracer.ts'
import { GenAiMeasures } from './gen-ai-measures.ts'
import { GEN_AI_CONVENTIONS } from './gen-ai-names.ts'
import { OtelTracer } from './otel-tracer.ts'
import type { OtlpSettings, OtlpTarget } from './otlp-settings.ts'

/** Sends spans and metrics to a collector. */
export interface OpenTelemetry {
  readonly tracer: Tracer
  readonly sink: RecordSink
  /** Sends the rest, within two seconds. */
  close(): Promise<void>
}

export interface OpenTelemetryOptions {
  readonly log: Log
  /** The version of Toolyard, sent as `service.version`. */
  readonly version: string
}

const SCOPE = 'toolyard'
const CLOSE_TIMEOUT_MS = 2_000

export function openOtlp(settings: OtlpSettings, { log, version }: OpenTelemetryOptions): OpenTelemetry {
  const resource = resourceOf(settings, version)
  const spans = settings.traces && tracerProvider(settings, settings.traces, resource, log)
  const figures = new MeterProvider({
    resource,
    readers: settings.metrics === undefined ? [] : [metricReader(settings, settings.metrics, log)],
  })
  const { schemaUrl } = GEN_AI_CONVENTIONS
  const measures = new GenAiMeasures(figures.getMeter(SCOPE, version, { schemaUrl }))
  // Without spans of our own, the caller's trace is passed on to the tools.
  const tracer = (spans ?? new api.ProxyTracerProvider()).getTracer(SCOPE, version, { schemaUrl })
  return {
    tracer: new OtelTracer({ tracer, api, contents: settings.contents, measures }),
    sink: measures,
    close: () => settled(Promise.allSettled([spans?.shutdown(), figures.shutdown()]), log),
  }
}

function resourceOf({ resource, serviceName }: OtlpSettings, version: string): Resource {
  return defaultResource().merge(
    resourceFromAttributes({
      'service.version': version,
      'service.instance.id': randomUUID(),
      ...resource,
      'service.name': serviceName ?? resource['service.name'] ?? SCOPE,
    }),
  )
}

function samplerOf({ sampler: { name, ratio } }: OtlpSettings): Sampler {
  const root = name.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(ratio)
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler()
  return name.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root
}

function tracerProvider(settings: OtlpSettings, target: OtlpTarget, resource: Resource, log: Log): TracerProvider {
  const exporter = new OTLPTraceExporter(exporterOptions(target))
  watchCollector(exporter, 'traces', target.url, log)
  const { mostQueued, mostSent, delayMs } = settings.batch
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: mostQueued,
    maxExportBatchSize: mostSent,
    scheduledDelayMillis: delayMs,
  })
  return new TracerProvider({ resource, sampler: samplerOf(settings), spanProcessors: [processor] })
}

function metricReader({ metricIntervalMs }: OtlpSettings, target: OtlpTarget, log: Log): PeriodicExportingMetricReader {
  const exporter = new OTLPMetricExporter(exporterOptions(target))
  watchCollector(exporter, 'metrics', target.url, log)
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: metricIntervalMs })
}

/** The exporters read compression and certificates from the environment themselves. */
const exporterOptions = ({ url, headers, timeoutMs }: OtlpTarget) => ({
  url,
  headers: { ...headers },
  timeoutMillis: timeoutMs,
})

/** Limits the wait for a collector that doesn't respond. */
async function settled(work: Promise<unknown[]>, log: Log): Promise<void> {
  if ((await within(CLOSE_TIMEOUT_MS, work, systemClock)) !== undefined) return
  writeLog(log, 'warn', { limit_ms: CLOSE_TIMEOUT_MS }, 'The last telemetry could not be sent in time and is lost')
}

interface Exporter<Items> {
  export(items: Items, done: (result: Result) => void): void
}

interface Result {
  /** 0 means success. */
  readonly code: number
  readonly error?: Error | undefined
}

/** Logs once when a collector fails and once when it recovers: exporters retry silently. */
function watchCollector<Items>(exporter: Exporter<Items>, signal: string, url: string, log: Log): void {
  const send = exporter.export.bind(exporter)
  const { origin } = new URL(url)
  let failing = false
  exporter.export = (items, done) =>
    send(items, (result) => {
      const failed = result.code !== 0
      if (failed && !failing) {
        const fields = { signal, collector: origin, reason: reasonOf(result.error) }
        writeLog(log, 'warn', fields, 'The OpenTelemetry collector does not accept data; spans and metrics are dropped')
      } else if (!failed && failing) {
        writeLog(log, 'info', { signal, collector: origin }, 'The OpenTelemetry collector accepts data again')
      }
      failing = failed
      done(result)
    })
}

/** The status or the connection code. Error texts may contain anything. */
function reasonOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code === 'number') return `status ${code}`
  return connectionCode(error) ?? error?.message ?? 'no reason given'
}
