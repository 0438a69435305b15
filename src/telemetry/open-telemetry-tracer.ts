import { createRequire } from 'node:module'
import type * as Api from '@opentelemetry/api'
import type { Tracer } from '../core/tracer.ts'
import { OtelTracer } from './otel-tracer.ts'

/**
 * Traces runs, turns and calls with a tracer of the host application: `trace.getTracer('toolyard')`. Records parameters
 * and results only if `contents` is true.
 */
export function openTelemetryTracer(tracer: Api.Tracer, { contents = false }: { contents?: boolean } = {}): Tracer {
  // Loaded lazily: the package's main entry imports this module.
  const api = createRequire(import.meta.url)('@opentelemetry/api') as typeof Api
  return new OtelTracer({ tracer, api, contents })
}
