import type { Installation } from '../app/installation.ts'
import { usableTools } from '../app/tools/usable-tools.ts'
import type { VersionReport } from '../app/versions/rollouts.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import { ROLLOUT_SCHEMA, ROLLOUT_SIDES, type Rollout } from '../core/tool.ts'
import {
  COUNT,
  type CommandOf,
  inPath,
  list,
  noStore,
  type OperationCall,
  object,
  operation,
  type Shown,
  TEXT,
  TIME,
} from './operation.ts'

const NUMBER = { type: ['number', 'null'] }
const INTERVAL = {
  type: ['object', 'null'],
  properties: { low: { type: 'number' }, high: { type: 'number' } },
  description: '95 % confidence; null if there are too few calls.',
}
const { current, candidate, percent, by, guard } = ROLLOUT_SCHEMA.properties

const ROLLOUT = {
  type: ['object', 'null'],
  properties: { current, candidate, percent, by, guard, started_at: TIME },
  description: 'Null if the highest version is the current one.',
}

const REPORT = object(
  {
    tool: TEXT,
    rollout: ROLLOUT,
    since: {
      ...TIME,
      description: 'The start of the comparison: the last change of the rollout, otherwise 7 days ago.',
    },
    versions: list(
      {
        version: TEXT,
        state: { enum: ['current', 'candidate', 'other'] },
        deprecated: { type: 'boolean' },
        calls: { ...COUNT, description: 'The first 20,000 calls, without refused and cancelled ones.' },
        failures: COUNT,
        success_rate: NUMBER,
        success_interval: INTERVAL,
        p50_ms: NUMBER,
        p50_interval: INTERVAL,
        p95_ms: NUMBER,
        p95_interval: INTERVAL,
        cost: NUMBER,
      },
      'The oldest first',
    ),
    comparison: {
      type: ['object', 'null'],
      properties: {
        verdict: { enum: ['not_enough_calls', 'worse', 'better', 'no_difference'] },
        sentence: TEXT,
        error_increase: INTERVAL,
        looks: COUNT,
      },
      description: 'The candidate against the current version, by a sequential test.',
    },
  },
  'The versions',
)

const TOOL = 'the name of the tool'
const PATH = '/api/tools/:name/rollout'
const ANSWER = object({ tool: TEXT, rollout: ROLLOUT }, 'The rollout')

const NAMED = { params: { name: inPath(200) }, tag: 'tools' } as const
const TOOL_COMMAND = {
  arguments: { name: TOOL },
  ...{ secrets: false, thing: 'tool', hint: 'see "toolyard tools"' },
} as const
const toolOf = async (_host: Installation, { name }: { readonly name: string }) => name

/** Throws if the caller may not use the tool. The user of this machine may also name one that is gone. */
function check(host: Installation, name: string, { caller }: OperationCall): void {
  const isUsable = caller === undefined || usableTools(host, caller).some((tool) => tool.name === name)
  found(isUsable || undefined, 'Tool', name, 'GET /api/tools/list lists them')
}

interface View {
  readonly tool: string
  readonly rollout: Rollout | null
}
const viewOf = ({ rollouts }: Installation, tool: string): View => ({ tool, rollout: rollouts.of(tool) ?? null })

const named = (all: Iterable<readonly [string, Rollout]>, name: string | undefined) => ({
  rollouts: Object.fromEntries<Rollout>([...all].filter(([tool]) => name === undefined || tool === name)),
})

const VERSIONS_HEAD = ['VERSION', 'STATE', 'CALLS', 'SUCCESS', 'P50', 'P95']

function rowOf(figures: VersionReport['versions'][number]): string[] {
  const { version, state, deprecated, calls, success_rate, success_interval } = figures
  const { p50_ms, p50_interval, p95_ms, p95_interval } = figures
  const ranged = (value: number | null, range: { low: number; high: number } | null, text: (one: number) => string) =>
    value === null ? '–' : `${text(value)}${range === null ? '' : ` (${text(range.low)}–${text(range.high)})`}`
  const share = (value: number) => `${(value * 100).toFixed(1)}%`
  const ms = (value: number) => `${value.toFixed(1)}ms`
  return [
    version,
    `${state}${deprecated ? ', deprecated' : ''}`,
    String(calls),
    ranged(success_rate, success_interval, share),
    ranged(p50_ms, p50_interval, ms),
    ranged(p95_ms, p95_interval, ms),
  ]
}

/** The versions of a tool. */
export const versions = {
  operations: {
    compare: operation({
      ...{ id: 'versions.compare', method: 'GET', path: '/api/tools/:name/versions', scope: 'observe', ...NAMED },
      summary: 'Compares the versions of a tool',
      tenant: 'any',
      answer: REPORT,
      needs: 'servers',
      async run(host, { name }, call) {
        check(host, name, call)
        found(host.manager.getRegistry().has(name) || undefined, 'Tool', name)
        await host.settle()
        return host.rollouts.report(name, call.tenant)
      },
      cli: {
        ...TOOL_COMMAND,
        command: 'versions',
        description: 'Compare the versions of a tool',
        nothing: noStore,
        tool: toolOf,
        show: ({ versions, since, comparison }) => ({
          table: [VERSIONS_HEAD, ...versions.map(rowOf)],
          notes: [`Calls since ${since}, with 95 % confidence intervals.`],
          ...(comparison && { result: [`${comparison.sentence}.`] }),
        }),
      },
    }),
  },
}

const ROLLOUTS_HEAD = ['TOOL', 'CURRENT', 'CANDIDATE', 'PERCENT', 'BY']

/** An operation that ends a rollout. */
const ends = (
  name: 'promote' | 'rollback' | 'reset',
  texts: Pick<CommandOf<never, never>, 'description'> & { readonly summary: string },
  end: (host: Installation, tool: string, by: OperationCall['by']) => Promise<unknown>,
) =>
  operation({
    ...{ id: `rollouts.${name}`, scope: 'installation', ...NAMED, summary: texts.summary },
    ...(name === 'reset' ? { method: 'DELETE', path: PATH } : { method: 'POST', path: `${PATH}/${name}` }),
    answer: ANSWER,
    needs: 'installation',
    async run(host, { name: tool }, call) {
      check(host, tool, call)
      if ((await end(host, tool, call.by)) !== false) return viewOf(host, tool)
      throw new OperationError('not_found', `Tool '${tool}' has no stored rollout`, 'see "toolyard rollout show"')
    },
    cli: {
      ...{ ...TOOL_COMMAND, command: `rollout ${name}`, description: texts.description, creates: true },
      show: ({ tool, rollout }): Shown => ({
        result: [`${tool}: everyone gets ${rollout?.current ?? 'the highest version'}`],
      }),
    },
  })

/** Which versions of a tool callers get. */
export const rollouts = {
  operations: {
    list: operation({
      ...{ id: 'rollouts.list', scope: 'observe', tag: 'tools', summary: 'Lists all rollouts' },
      answer: object({ rollouts: { type: 'object', additionalProperties: ROLLOUT } }),
      needs: 'installation',
      query: { name: TEXT },
      async run(host, { name }) {
        return named(host.rollouts.all(), name)
      },
      cli: {
        ...{ command: 'rollout show', description: 'Show all rollouts, or the one of a tool' },
        ...{ arguments: { name: TOOL }, optional: ['name'], secrets: false },
        nothing: ({ tools }, { name }) => named(Object.entries(tools?.rollout ?? {}), name),
        show: ({ rollouts }) => {
          const rows = Object.entries(rollouts).map(([tool, { current, candidate, percent = 0, by = 'session' }]) => [
            ...[tool, current],
            ...(candidate === undefined ? ['', '', ''] : [candidate, `${percent} %`, by]),
          ])
          if (rows.length > 0) return { table: [ROLLOUTS_HEAD, ...rows] }
          return { notes: ['No rollouts: the highest version of each tool is the current one.'] }
        },
      },
    }),
    get: operation({
      ...{ id: 'rollouts.get', method: 'GET', path: PATH, scope: 'observe', ...NAMED },
      summary: 'Returns which versions of a tool callers get',
      answer: ANSWER,
      needs: 'installation',
      run(host, { name }, call) {
        check(host, name, call)
        return viewOf(host, name)
      },
    }),
    start: operation({
      ...{ id: 'rollouts.start', method: 'PUT', path: PATH, scope: 'installation', ...NAMED },
      summary: 'Gives a part of the callers another version of a tool, or changes that part',
      body: { current, candidate, percent, by, guard },
      required: ['candidate', 'percent'],
      answer: ANSWER,
      needs: 'servers',
      async run(host, { name, ...rollout }, call) {
        check(host, name, call)
        await host.rollouts.start(name, rollout, call.by)
        return viewOf(host, name)
      },
      cli: {
        ...TOOL_COMMAND,
        command: 'rollout start',
        description: 'Give some of the callers another version, or change their share',
        creates: true,
        options: {
          candidate: { flags: '--candidate <version>', description: 'the version to try', required: true },
          current: {
            flags: '--current <version>',
            description: 'the version that the other callers get (default: the current one)',
          },
          percent: {
            ...{ flags: '--percent <number>', required: true },
            description: 'the share of the callers in percent, 0 to 100',
          },
          by: {
            ...{ flags: '--by <side>', description: 'what always gets the same version' },
            ...{ choices: ROLLOUT_SIDES, default: 'session' },
          },
          'guard.min_calls': {
            flags: '--min-calls <number>',
            description: 'guard: compare the versions after this many calls of each',
          },
          'guard.max_error_increase': {
            flags: '--max-error-increase <share>',
            description: 'guard: roll back if the failure rate is higher by more than this, such as 0.02',
          },
        },
        tool: toolOf,
        show: ({ tool, rollout }, { percent, candidate }) => ({
          result: [`${tool}: ${percent} % get ${candidate}, the others ${rollout?.current}`],
        }),
      },
    }),
    promote: ends(
      'promote',
      { summary: 'Makes the candidate the current version', description: 'Make the candidate the current version' },
      ({ rollouts }, tool, by) => rollouts.promote(tool, by),
    ),
    rollback: ends(
      'rollback',
      {
        summary: 'Gives all callers the current version again',
        description: 'Give all callers the current version again',
      },
      ({ rollouts }, tool, by) => rollouts.rollBack(tool, by),
    ),
    reset: ends(
      'reset',
      {
        summary: 'Forgets the rollout of a tool: the configuration counts again',
        description: 'Remove the stored rollout, so that the configuration applies again',
      },
      ({ rollouts }, tool, by) => rollouts.reset(tool, by),
    ),
  },
  help: `
A rollout gives some of the callers another version of a tool. A running server applies changes within a second.

Examples:
  $ toolyard rollout start get_weather --current 1.0.0 --candidate 2.0.0 --percent 10
  $ toolyard rollout start get_weather --candidate 2.0.0 --percent 50 --max-error-increase 0.02
  $ toolyard versions get_weather
  $ toolyard rollout promote get_weather`,
}
