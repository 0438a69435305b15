import type { OpenTelemetry, OpenTelemetryOptions } from './open-otlp.ts'
import { otlpSettings, type TelemetryEnvironment } from './otlp-settings.ts'

/**
 * Tells a collector over OTLP what the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, …) ask for; undefined, and
 * nothing loaded, where they ask for nothing. The provider is its own: one that a host application has set up is
 * neither used nor replaced.
 */
export async function openTelemetry(
  env: TelemetryEnvironment,
  { log, version }: OpenTelemetryOptions,
): Promise<OpenTelemetry | undefined> {
  const settings = otlpSettings(env, log)
  if (settings === undefined) return undefined
  const { openOtlp } = await import('./open-otlp.ts')
  return openOtlp(settings, { log, version })
}
