import { expect, test } from 'vitest'
import { captureLog } from '../testing/stand-ins.ts'
import { otlpSettings } from './otlp-settings.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }

test('uses the defaults of the specification, with smaller batches', () => {
  const log = captureLog()
  expect(otlpSettings(ENDPOINT, log)).toEqual({
    traces: { url: 'http://collector:4318/v1/traces', headers: {}, timeoutMs: 10_000 },
    metrics: { url: 'http://collector:4318/v1/metrics', headers: {}, timeoutMs: 10_000 },
    serviceName: undefined,
    resource: {},
    sampler: { name: 'parentbased_always_on', ratio: 1 },
    batch: { mostQueued: 2_048, mostSent: 128, delayMs: 5_000 },
    metricIntervalMs: 60_000,
    contents: false,
  })
  expect(log.lines).toEqual([])
})

test('prefers the variable of one signal to the general one', () => {
  const settings = otlpSettings(
    {
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in?k=1',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=3',
      OTEL_EXPORTER_OTLP_TIMEOUT: '700',
      OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '900',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=a%2Cb',
    },
    captureLog(),
  )
  expect(settings).toMatchObject({
    traces: { url: 'https://traces.example/in?k=1', headers: { a: '1', b: '3' }, timeoutMs: 700 },
    metrics: { url: 'http://collector:4318/v1/metrics', headers: { a: '1', b: '2' }, timeoutMs: 900 },
    resource: { 'deployment.environment.name': 'test', team: 'a,b' },
  })
})

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', 'an address like http://localhost:4318'],
  ['OTEL_TRACES_SAMPLER', 'sometimes', /^one of always_on, .*parentbased_traceidratio$/],
  ['OTEL_TRACES_SAMPLER_ARG', '2', 'a number from 0 to 1'],
  ['OTEL_BSP_SCHEDULE_DELAY', '-1', 'a whole number above 0'],
  ['OTEL_METRIC_EXPORT_INTERVAL', '1.5', 'a whole number above 0'],
])('%s that cannot be meant is reported once and left out', (variable, value, wanted) => {
  const log = captureLog()
  const settings = otlpSettings({ ...ENDPOINT, [variable]: value }, log)
  expect(settings).toEqual(
    variable === 'OTEL_EXPORTER_OTLP_ENDPOINT' ? undefined : otlpSettings(ENDPOINT, captureLog()),
  )
  expect(log.lines).toHaveLength(1)
  expect(log.lines[0]).toMatchObject({ level: 'warn', fields: { variable, value } })
  const [, said] = /^\S+ must be (.*): it is ignored$/.exec(log.lines[0]?.message ?? '') ?? []
  expect(said).toMatch(wanted)
})

test('reports malformed headers without their values', () => {
  const log = captureLog()
  otlpSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'Bearer sk-very-secret' }, log)
  expect(log.lines).toHaveLength(1)
  expect(JSON.stringify(log.lines)).not.toContain('secret')
})

test('warns that gRPC is not supported', () => {
  const log = captureLog()
  expect(otlpSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, log)?.traces).toBeDefined()
  expect(log.lines.map(({ message }) => message)).toEqual([
    'OTLP is sent over HTTP as JSON, not over gRPC: use its HTTP port',
  ])
})
