import type { ResponseRule } from '../chat/response-rules.ts'
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

/** The limits of rules of `responses`. A program passes those of its runs with each run. */
const OF_RULES: Readonly<Record<string, string>> = {
  budget: 'budget',
  max_tokens: 'maxTokens',
  'tools.max_iterations': 'maxIterations',
  'tools.allowed_tools': 'tools',
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
  const ofRules = rulesOf(config).flatMap((rule, at) =>
    Object.entries(OF_RULES).flatMap(([pattern, option]) =>
      placesOf(rule, pattern, `responses[${at}]`).map(
        (place) => `${place} of the config needs a server. Pass ${option} with each run`,
      ),
    ),
  )
  const questions = hasStore ? [] : ASKED.flatMap((pattern) => placesOf(config, pattern, '', 'ask'))
  const ofPeople = questions.map(
    (place) => `${place} of the config needs a store: nobody can be asked. Pass storage, such as storage: '.toolyard'`,
  )
  return [...ofServer, ...ofRules, ...ofPeople, ...(hasStore ? [] : ofStore), ...ofKeys]
}

/** What has no effect in a program, but limits nothing: `responses` name the model of the knowledge tools, too. */
export function idleWarnings(config: Config): string[] {
  return rulesOf(config).flatMap((rule, at) => {
    const idle = ['match', 'prompt', 'temperature'].filter((key) => Object.hasOwn(rule, key))
    if (rule.tools?.enabled === false) idle.push('tools.enabled')
    const fix = 'Pass system, temperature and tools with each run'
    return idle.length === 0 ? [] : [`responses[${at}]: ${idle.join(', ')} of the config needs a server. ${fix}`]
  })
}

/** Mistakes in rules are reported elsewhere. */
const rulesOf = ({ responses }: Config): readonly ResponseRule[] =>
  Array.isArray(responses) ? responses.filter((rule) => typeof rule === 'object' && rule !== null) : []

/** Settings that ask people with the value `ask`. */
const ASKED = ['mcpServers', 'servers'].flatMap((section) =>
  ['elicitation', 'sampling'].map((kind) => `${section}.*.forward.${kind}`),
)

/** The paths of the settings that match a pattern and have a value, or the wanted one. */
function placesOf(value: unknown, pattern: string, before = '', wanted?: unknown): string[] {
  const [step = '', ...rest] = pattern.split('.')
  const given = typeof value === 'object' && value !== null ? value : {}
  const keys = step === '*' ? Object.keys(given) : Object.hasOwn(given, step) ? [step] : []
  return keys.flatMap((key) => {
    const one = (given as Readonly<Record<string, unknown>>)[key]
    const place = before === '' ? key : `${before}.${key}`
    if (one === undefined) return []
    if (rest.length > 0) return placesOf(one, rest.join('.'), place, wanted)
    return wanted === undefined || one === wanted ? [place] : []
  })
}
