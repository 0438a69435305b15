import { complianceReport } from '../app/service-levels/compliance-report.ts'
import { type Alert, ObjectiveReader, type ObjectiveReport } from '../app/service-levels/objectives.ts'
import { usableTools } from '../app/tools/usable-tools.ts'
import { matchesGlobs } from '../core/execution/permit.ts'
import { invalid } from '../core/operation/operation-error.ts'
import { COUNT, list, noStore, object, operation, type StoreHost, TEXT, TIME, TIME_OR_NULL } from './operation.ts'

const NUMBER = { type: 'number' }
const RATE = { type: ['number', 'null'] }

const OBJECTIVES = object(
  {
    objectives: list({
      id: { ...TEXT, examples: ['get_weather success 0.995 30d'] },
      tool: { type: ['string', 'null'], description: 'A pattern; null: all tools together.' },
      indicator: { enum: ['success', 'p95_ms'] },
      target: NUMBER,
      window: { ...TEXT, examples: ['30d'] },
      calls: { ...COUNT, description: 'Without refused, invalid and cancelled calls.' },
      bad: { ...COUNT, description: 'Calls that failed, or took longer than the target.' },
      error_budget_left: { ...NUMBER, description: '1: all of it; negative: the target is missed.' },
      burn_rates: {
        ...object({ '5m': RATE, '1h': RATE, '6h': RATE, '3d': RATE }),
        description: 'How many times as fast as planned the error budget is used up; null if there were no calls.',
      },
      days: list({ start: TIME, calls: COUNT, bad: COUNT }),
    }),
    alerts: list(
      {
        objective: TEXT,
        severity: { enum: ['fast', 'slow'] },
        opened_at: TIME,
        resolved_at: { ...TIME_OR_NULL, description: 'Null while it is open.' },
      },
      'The newest first. Only if the request asks for all tenants.',
    ),
  },
  'The objectives',
)

export interface ObjectivesView {
  readonly objectives: readonly ObjectiveReport[]
  /** Absent if the objectives are those of one tenant. */
  readonly alerts?: readonly Omit<Alert, 'calm_since'>[]
}

async function readerOf(host: StoreHost): Promise<ObjectiveReader> {
  const { settings, ledger } = host.storage
  const reader = new ObjectiveReader({ settings, ledger, clock: host.clock })
  reader.configure(await host.currentConfig())
  return reader
}

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30

/** What a report covers, in milliseconds since 1970. */
interface Range {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** The range with its defaults. */
export function reportRange({ from, to }: Range, now: number): { readonly from: number; readonly to: number } {
  const end = to ?? now
  const start = from ?? end - DEFAULT_DAYS * DAY_MS
  if (start < end) return { from: start, to: end }
  throw invalid('from must be earlier than to')
}

const HEAD = ['OBJECTIVE', 'CALLS', 'BAD', 'BUDGET LEFT', 'BURN 1H', 'BURN 3D', 'ALERT']

const rowOf = (report: ObjectiveReport, open: readonly string[]): string[] => [
  report.id,
  String(report.calls),
  String(report.bad),
  `${(report.error_budget_left * 100).toFixed(1)} %`,
  report.burn_rates['1h']?.toFixed(1) ?? '-',
  report.burn_rates['3d']?.toFixed(1) ?? '-',
  open.length === 0 ? '-' : open.join(', '),
]

const operations = {
  get: operation({
    ...{ id: 'objectives.get', method: 'GET', path: '/api/objectives', scope: 'observe', tag: 'metrics' },
    summary: 'Returns the objectives, how much of their error budget is left, and alerts',
    description: 'Alerts are about the calls of all tenants together.',
    tenant: 'any',
    answer: OBJECTIVES,
    needs: 'store',
    async run(host, _input, { tenant, caller }): Promise<ObjectivesView> {
      const reader = await readerOf(host)
      await host.settle()
      const objectives = await reader.report(tenant)
      if (tenant === undefined) {
        const { alerts } = await reader.state()
        return { objectives, alerts: alerts.map(({ calm_since: _, ...alert }) => alert) }
      }
      if (caller === undefined) return { objectives }
      const { manager, tenants } = host
      const tools = manager && tenants ? usableTools({ manager, tenants }, caller) : []
      // The name of a tool says that it exists.
      const isSeen = ({ tool }: ObjectiveReport) =>
        tool === null || tools.some(({ name }) => matchesGlobs([tool], name))
      return { objectives: objectives.filter(isSeen) }
    },
    cli: {
      command: 'objectives',
      description: 'Show objectives, their error budget and alerts',
      nothing: noStore,
      show: ({ objectives, alerts = [] }) => {
        const open = alerts.filter(({ resolved_at }) => resolved_at === null)
        const severities = (id: string) => open.flatMap(({ objective, severity }) => (objective === id ? severity : []))
        return {
          ...(objectives.length > 0
            ? { table: [HEAD, ...objectives.map((one) => rowOf(one, severities(one.id)))] }
            : { notes: ['No objectives: add "objectives" to the configuration.'] }),
          code: open.length === 0 ? 0 : 1,
        }
      },
    },
  }),
  /** Its faces write files. */
  report: operation({
    ...{ id: 'objectives.report', scope: 'installation', tag: 'audit' },
    summary: 'Reports who used what, denied calls, approvals, changes, cost and integrity',
    query: { from: { type: 'integer' }, to: { type: 'integer' } },
    answer: { type: 'object', additionalProperties: true },
    needs: 'store',
    async run(host, range, { tenant }) {
      const { storage, clock } = host
      const query = { tenant, ...reportRange(range, clock.wall()) }
      await host.settle()
      return complianceReport(query, { storage, clock, objectives: await readerOf(host) })
    },
  }),
}

/** Service level objectives and the compliance report. */
export const objectives = {
  operations,
  help: '\nObjectives are configured with "objectives". Exit code 1 if an alert is open.',
}
