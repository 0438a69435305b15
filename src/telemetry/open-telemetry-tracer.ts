import { createRequire } from 'node:module'
import type * as Api from '@opentelemetry/api'
import type { Tracer } from '../core/tracer.ts'
import { OtelTracer } from './otel-tracer.ts'

/**
 * Tells of runs, turns and calls in spans of a tracer that the host application has: `trace.getTracer('toolyard')`.
 * Parameters and results go with them only where `contents` is true.
 */
export function openTelemetryTracer(tracer: Api.Tracer, { contents = false }: { contents?: boolean } = {}): Tracer {
  // Loaded only where somebody has a tracer: everybody imports this module.
  const api = createRequire(import.meta.url)('@opentelemetry/api') as typeof Api
  return new OtelTracer({ tracer, api, contents })
}
