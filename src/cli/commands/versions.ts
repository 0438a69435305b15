import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Installation } from '../../app/installation.ts'
import type { RolloutStart, VersionReport } from '../../app/versions/rollouts.ts'
import { compareDefinitions } from '../../app/versions/schema-diff.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { pinnedName } from '../../core/execution/tool-view.ts'
import { ROLLOUT_SIDES, type ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { awaitServers, commandUser, openManager, SHORT_WAIT_MS, withInstallation } from '../common/open.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const HELP = `
A rollout gives a part of the callers another version of a tool. A running server applies changes within a second.

Examples:
  $ toolyard rollout start get_weather --current 1.0.0 --candidate 2.0.0 --percent 10
  $ toolyard rollout start get_weather --candidate 2.0.0 --percent 50 --max-error-increase 0.02
  $ toolyard versions get_weather
  $ toolyard rollout promote get_weather`

const TOOL = 'the name of the tool'

export function defineRollout(rollout: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  rollout.addHelpText('after', HELP)

  rollout
    .command('show')
    .description('Show all rollouts, or the one of a tool')
    .argument('[name]', TOOL)
    .action(run(show))

  rollout
    .command('start')
    .description('Give some of the callers another version, or change their share')
    .argument('<name>', TOOL)
    .requiredOption('--candidate <version>', 'the version')
    .option('--current <version>', 'the version that the other callers get (default: the current one)')
    .requiredOption('--percent <number>', 'the share of the callers in percent, 0 to 100', percentage)
    .addOption(new Option('--by <side>', 'what stays on its side').choices(ROLLOUT_SIDES).default('session'))
    .option('--min-calls <number>', 'guard: compare the versions after this many calls of each', wholeNumber)
    .option(
      '--max-error-increase <share>',
      'guard: roll back if the failure rate is higher by more than this, such as 0.02',
      share,
    )
    .action(run(start))

  const change = (name: 'promote' | 'rollBack' | 'reset') =>
    run((...args: [Terminal, string, GlobalOptions]) => end(name, ...args))
  rollout
    .command('promote')
    .description('Make the candidate the current version')
    .argument('<name>', TOOL)
    .action(change('promote'))
  rollout
    .command('rollback')
    .description('Give all callers the current version again')
    .argument('<name>', TOOL)
    .action(change('rollBack'))
  rollout
    .command('reset')
    .description('Remove the stored rollout, so that the configuration applies again')
    .argument('<name>', TOOL)
    .action(change('reset'))
}

export function defineVersions(versions: Command, terminal: Terminal, done: Done): void {
  versions.argument('<name>', TOOL).action(actions(terminal, done)(compare))
}

export function defineDiff(diff: Command, terminal: Terminal, done: Done): void {
  diff
    .argument('<before>', 'a version, such as get_weather@1.0.0')
    .argument('<after>', 'the version to compare it with')
    .addHelpText('after', '\nExit code 1 if a change is breaking: calls that worked may fail, or run differently.')
    .action(actions(terminal, done)(showDiff))
}

function numberIn(text: string, low: number, high: number): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= low && value <= high) return value
  throw new InvalidArgumentError(`It must be a number from ${low} to ${high}.`)
}

const percentage = (text: string): number => numberIn(text, 0, 100)
const share = (text: string): number => numberIn(text, 0, 1)
function wholeNumber(text: string): number {
  const value = numberIn(text, 20, 10_000)
  if (Number.isInteger(value)) return value
  throw new InvalidArgumentError('It must be a whole number.')
}

interface StartOptions extends GlobalOptions, RolloutStart {
  readonly minCalls?: number
  readonly maxErrorIncrease?: number
}

/** Runs work when the tools of MCP servers are known. */
const withTools = <T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (installation: Installation) => Promise<T>,
): Promise<T> =>
  withInstallation(
    terminal,
    options,
    async (installation) => {
      await awaitServers(installation.manager, { ms: SHORT_WAIT_MS, terminal })
      return work(installation)
    },
    { record: 'always', secrets: false },
  ).catch((error) => {
    throw error instanceof ToolExecutionError ? new UsageError(error.message, { cause: error }) : error
  })

/** `toolyard rollout show`. */
async function show(terminal: Terminal, name: string | undefined, options: GlobalOptions): Promise<number> {
  const all = await withTools(terminal, options, async ({ rollouts }) => rollouts.all())
  const shown = [...all].filter(([tool]) => name === undefined || tool === name)
  if (terminal.json) terminal.document({ rollouts: Object.fromEntries(shown) })
  else if (shown.length === 0) terminal.note('No rollouts: the highest version of each tool is the current one.')
  else {
    const rows = shown.map(([tool, { current, candidate = '', percent, by }]) => {
      const part = candidate === '' ? ['', ''] : [`${percent ?? 0} %`, by ?? 'session']
      return [tool, current, candidate, ...part]
    })
    showTable(terminal, [['TOOL', 'CURRENT', 'CANDIDATE', 'PERCENT', 'BY'], ...rows])
  }
  return 0
}

/** `toolyard rollout start`. */
async function start(terminal: Terminal, name: string, options: StartOptions): Promise<number> {
  const { current, candidate, percent, by, minCalls, maxErrorIncrease } = options
  const guard = {
    ...(minCalls !== undefined && { min_calls: minCalls }),
    ...(maxErrorIncrease !== undefined && { max_error_increase: maxErrorIncrease }),
  }
  const isGuarded = Object.keys(guard).length > 0
  return withTools(terminal, options, async ({ rollouts }) => {
    const kept = { ...(current && { current }), ...(by && { by }), ...(isGuarded && { guard }) }
    await rollouts.start(name, { candidate, percent, ...kept }, commandUser())
    const rollout = rollouts.of(name)
    if (terminal.json) terminal.document({ tool: name, rollout })
    else terminal.result(printableLine(`${name}: ${percent} % get ${candidate}, the others ${rollout?.current}`))
    return 0
  })
}

/** `toolyard rollout promote`, `rollback` and `reset`. */
async function end(
  how: 'promote' | 'rollBack' | 'reset',
  terminal: Terminal,
  name: string,
  options: GlobalOptions,
): Promise<number> {
  return withTools(terminal, options, async ({ rollouts, manager }) => {
    if ((await rollouts[how](name, commandUser())) === false) {
      throw new UsageError(`Tool '${printableLine(name)}' has no stored rollout: see "toolyard rollout show".`)
    }
    const rollout = rollouts.of(name) ?? null
    const tool = manager.getRegistry().find(name)
    const current = tool === undefined ? 'none' : manager.getRegistry().definitionOf(tool).version
    if (terminal.json) terminal.document({ tool: name, rollout })
    else terminal.result(printableLine(`${name}: everyone gets ${current ?? '0.0.0'}`))
    return 0
  })
}

const HEAD = ['VERSION', 'STATE', 'CALLS', 'SUCCESS', 'P50', 'P95']

/** `toolyard versions NAME`: what the calls of each version show. */
async function compare(terminal: Terminal, name: string, options: GlobalOptions): Promise<number> {
  const report = await withTools(terminal, options, async ({ rollouts, manager }) => {
    known(manager.getRegistry(), name)
    return rollouts.report(name, undefined)
  })
  if (terminal.json) terminal.document(report)
  else {
    showTable(terminal, [HEAD, ...report.versions.map(rowOf)])
    terminal.note(`Calls since ${report.since}, with 95 % confidence intervals.`)
    if (report.comparison !== null) terminal.result(printableLine(`${report.comparison.sentence}.`))
  }
  return 0
}

function rowOf(figures: VersionReport['versions'][number]): string[] {
  const { version, state, deprecated, calls, success_rate, success_interval } = figures
  const { p50_ms, p50_interval, p95_ms, p95_interval } = figures
  const ranged = (value: number | null, range: { low: number; high: number } | null, text: (one: number) => string) =>
    value === null ? '–' : `${text(value)}${range === null ? '' : ` (${text(range.low)}–${text(range.high)})`}`
  const percent = (value: number) => `${(value * 100).toFixed(1)}%`
  const ms = (value: number) => `${value.toFixed(1)}ms`
  return [
    version,
    `${state}${deprecated ? ', deprecated' : ''}`,
    String(calls),
    ranged(success_rate, success_interval, percent),
    ranged(p50_ms, p50_interval, ms),
    ranged(p95_ms, p95_interval, ms),
  ]
}

/** `toolyard diff NAME@1 NAME@2`: what changed for callers. */
async function showDiff(terminal: Terminal, before: string, after: string, options: GlobalOptions): Promise<number> {
  const open = await openManager(terminal, options, { record: false, secrets: false })
  try {
    await awaitServers(open.manager, { ms: SHORT_WAIT_MS, terminal })
    const registry = open.manager.getRegistry()
    const [old, now] = [known(registry, before), known(registry, after)]
    const changes = compareDefinitions(old, now)
    const breaking = changes.some((one) => one.breaking)
    if (terminal.json) {
      terminal.document({ before: pinnedName(old), after: pinnedName(now), breaking, changes })
    } else {
      for (const one of changes)
        terminal.result(printableLine(`${one.breaking ? 'breaking  ' : 'ok        '}${one.change}`))
      const words = changes.length === 0 ? 'Nothing changed for callers.' : breaking ? 'Breaking.' : 'Not breaking.'
      terminal.note(words)
    }
    return breaking ? 1 : 0
  } finally {
    await open.close()
  }
}

function known(registry: ToolRegistry, name: string): ToolDefinition {
  const tool = registry.find(name)
  if (tool !== undefined) return registry.definitionOf(tool)
  const [plain = ''] = name.split('@')
  const versions = registry.versionsOf(plain).map(pinnedName)
  const hint = versions.length > 0 ? `there are ${versions.join(', ')}` : 'see "toolyard tools"'
  throw new UsageError(`There is no tool '${printableLine(name)}': ${hint}.`)
}
