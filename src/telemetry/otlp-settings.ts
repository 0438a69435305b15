import { type Log, writeLog } from '../core/log.ts'

export type TelemetryEnvironment = Readonly<Record<string, string | undefined>>

export interface OtlpTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export interface OtlpSettings {
  readonly traces: OtlpTarget | undefined
  readonly metrics: OtlpTarget | undefined
  readonly serviceName: string | undefined
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: { readonly name: (typeof SAMPLERS)[number]; readonly ratio: number }
  readonly batch: { readonly delayMs: number; readonly mostQueued: number; readonly mostSent: number }
  readonly metricIntervalMs: number
  /** Whether parameters and results are recorded. */
  readonly contents: boolean
}

/** Values that enable contents. Toolyard has no events, so `event_only` disables them. */
const CONTENTS = new Set(['true', 'span_only', 'span_and_event'])

/** Reads the standard variables; undefined if they enable nothing. Invalid values are logged and ignored. */
export function otlpSettings(env: TelemetryEnvironment, log: Log): OtlpSettings | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined
  const reader = new Reader(env, log)
  const [traces, metrics] = [reader.target('TRACES'), reader.target('METRICS')]
  if (traces === undefined && metrics === undefined) return undefined
  const mostQueued = reader.count('OTEL_BSP_MAX_QUEUE_SIZE', 2_048)
  return {
    traces,
    metrics,
    serviceName: reader.text('OTEL_SERVICE_NAME'),
    resource: reader.pairs('OTEL_RESOURCE_ATTRIBUTES'),
    sampler: reader.sampler(),
    batch: {
      mostQueued,
      // Smaller than the default: serializing a batch blocks the event loop.
      mostSent: Math.min(mostQueued, reader.count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 128)),
      delayMs: reader.count('OTEL_BSP_SCHEDULE_DELAY', 5_000),
    },
    metricIntervalMs: reader.count('OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    contents: CONTENTS.has(reader.text('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT')?.toLowerCase() ?? ''),
  }
}

class Reader {
  readonly #env: TelemetryEnvironment
  readonly #log: Log
  /** Each invalid variable is logged once. */
  readonly #reported = new Set<string>()

  constructor(env: TelemetryEnvironment, log: Log) {
    this.#env = env
    this.#log = log
  }

  /** An empty variable counts as not set. */
  text(name: string): string | undefined {
    return this.#env[name]?.trim() || undefined
  }

  count(name: string, usual: number): number {
    const text = this.text(name)
    if (text === undefined) return usual
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
    return this.#wrong(name, text, 'a whole number above 0', usual)
  }

  /** Reads `key=value,key=value`; values may be percent-encoded. */
  pairs(name: string): Record<string, string> {
    const pairs: [string, string][] = []
    for (const part of this.text(name)?.split(',') ?? []) {
      const [, key, value = ''] = /^([^=\s]+)\s*=(.*)$/s.exec(part.trim()) ?? []
      if (key !== undefined) pairs.push([key, decoded(value.trim())])
      // Not logged, because the value may be a secret.
      else if (part.trim() !== '') this.#wrong(name, undefined, 'a list of the form key=value,key=value', undefined)
    }
    return Object.fromEntries(pairs)
  }

  target(signal: 'TRACES' | 'METRICS'): OtlpTarget | undefined {
    if (this.text(`OTEL_${signal}_EXPORTER`)?.toLowerCase() === 'none') return undefined
    const own = `OTEL_EXPORTER_OTLP_${signal}`
    const shared = 'OTEL_EXPORTER_OTLP'
    const whole = this.text(`${own}_ENDPOINT`)
    const base = this.text(`${shared}_ENDPOINT`)
    const text = whole ?? (base && `${base.replace(/\/$/, '')}/v1/${signal.toLowerCase()}`)
    if (text === undefined) return undefined
    const name = whole === undefined ? `${shared}_ENDPOINT` : `${own}_ENDPOINT`
    if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
      return this.#wrong(name, whole ?? base, 'an address like http://localhost:4318', undefined)
    }
    if (this.text(`${own}_PROTOCOL`) === 'grpc' || this.text(`${shared}_PROTOCOL`) === 'grpc') {
      this.#report(
        'OTEL_EXPORTER_OTLP_PROTOCOL',
        'grpc',
        'OTLP is sent over HTTP as JSON, not over gRPC: use its HTTP port',
      )
    }
    return {
      url: text,
      headers: { ...this.pairs(`${shared}_HEADERS`), ...this.pairs(`${own}_HEADERS`) },
      timeoutMs: this.count(`${own}_TIMEOUT`, this.count(`${shared}_TIMEOUT`, 10_000)),
    }
  }

  sampler(): OtlpSettings['sampler'] {
    const text = this.text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
    const name = SAMPLERS.find((one) => one === text)
    const arg = this.text('OTEL_TRACES_SAMPLER_ARG') ?? '1'
    const ratio = Number(arg)
    const isShare = ratio >= 0 && ratio <= 1
    return {
      name:
        name ??
        this.#wrong('OTEL_TRACES_SAMPLER', text, `one of ${SAMPLERS.join(', ')}`, 'parentbased_always_on' as const),
      ratio: isShare ? ratio : this.#wrong('OTEL_TRACES_SAMPLER_ARG', arg, 'a number from 0 to 1', 1),
    }
  }

  #wrong<T>(variable: string, value: string | undefined, wanted: string, instead: T): T {
    this.#report(variable, value, `${variable} must be ${wanted}: it is ignored`)
    return instead
  }

  #report(variable: string, value: string | undefined, problem: string): void {
    if (this.#reported.has(variable)) return
    this.#reported.add(variable)
    writeLog(this.#log, 'warn', { variable, ...(value !== undefined && { value }) }, problem)
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
