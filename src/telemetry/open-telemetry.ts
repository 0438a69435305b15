import { loadOptional } from '../core/optional-package.ts'
import type { OpenTelemetry, OpenTelemetryOptions } from './open-otlp.ts'
import { otlpSettings, type TelemetryEnvironment } from './otlp-settings.ts'

const PACKAGES = [
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-trace',
]

/**
 * Sends telemetry over OTLP as the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, …) say. Returns undefined and
 * loads nothing if they aren't set. Neither uses nor replaces a provider of the host application.
 */
export async function openTelemetry(
  env: TelemetryEnvironment,
  { log, version }: OpenTelemetryOptions,
): Promise<OpenTelemetry | undefined> {
  const settings = otlpSettings(env, log)
  if (settings === undefined) return undefined
  const { openOtlp } = await loadOptional('OTLP export', PACKAGES, () => import('./open-otlp.ts'))
  return openOtlp(settings, { log, version })
}
