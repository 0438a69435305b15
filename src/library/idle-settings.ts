import type { Config } from '../config/config.ts'

const RATE = 'Give tools a rate_limit, or count calls in your program'

/** Settings that only the server applies. `*` is any key, and the text is what to do instead. */
const OF_SERVER: Readonly<Record<string, string | undefined>> = {
  server: undefined,
  auth: undefined,
  roles: undefined,
  page: undefined,
  mcp: undefined,
  packages: undefined,
  objectives: undefined,
  alerts: undefined,
  approvals: 'Tell people in your program',
  'limits.calls_per_session': RATE,
  'limits.calls_per_minute': RATE,
  'limits.body_bytes': undefined,
  'limits.job_timeout_ms': undefined,
  'limits.queued_jobs': undefined,
  'tenants.*.flags': 'Pass flags with each call',
  'tenants.*.quota.queued_jobs': undefined,
  'providers.*.any_model': undefined,
  'tools.rollout.*.guard': undefined,
}

/** Settings of what is stored. */
const OF_STORE: readonly string[] = [
  'storage',
  'validation',
  'connections',
  'budgets',
  'limits.durable_runs',
  'limits.documents',
  'limits.storage_bytes',
  'limits.stored_runs',
  'tenants.*.quota.durable_runs',
  'tenants.*.quota.documents',
  'tenants.*.quota.storage_bytes',
  'tenants.*.quota.stored_runs',
]

/** The settings of a configuration that have no effect in a program, each with what to do. */
export function idleSettings(config: Config, hasStore: boolean): string[] {
  const ofServer = Object.entries(OF_SERVER).flatMap(([pattern, instead]) =>
    placesOf(config, pattern).map((place) => `${place} of the config needs a server. ${instead ?? 'Remove it'}`),
  )
  const ofStore = OF_STORE.flatMap((pattern) =>
    placesOf(config, pattern).map(
      (place) => `${place} of the config needs a store. Pass storage, such as storage: '.toolyard'`,
    ),
  )
  const budgets = hasStore && Array.isArray(config.budgets) ? config.budgets : []
  const ofKeys = budgets.flatMap(({ scope }, at) =>
    scope === 'key' ? [`budgets[${at}] of the config needs a server: a program has no keys. Count by tenant`] : [],
  )
  return [...ofServer, ...(hasStore ? [] : ofStore), ...ofKeys]
}

/** The paths of the settings that match a pattern and have a value. */
function placesOf(value: unknown, pattern: string, before = ''): string[] {
  const [step = '', ...rest] = pattern.split('.')
  const given = typeof value === 'object' && value !== null ? value : {}
  const keys = step === '*' ? Object.keys(given) : Object.hasOwn(given, step) ? [step] : []
  return keys.flatMap((key) => {
    const one = (given as Readonly<Record<string, unknown>>)[key]
    const place = before === '' ? key : `${before}.${key}`
    if (one === undefined) return []
    return rest.length === 0 ? [place] : placesOf(one, rest.join('.'), place)
  })
}
