import type { Command } from 'commander'
import type { LoadReport } from '../../app/tools/load-definitions.ts'
import { MAX_FOUND } from '../../chat/discovery.ts'
import type { Config } from '../../config/config.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { versionOf } from '../../core/execution/tool-view.ts'
import { counted } from '../../core/schema/problem-words.ts'
import type { Deprecation, Params, ToolDefinition } from '../../core/tool.ts'
import type { PipelineGraph } from '../../kinds/composite/pipeline.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { asText, readTimeout, runCall } from '../common/call.ts'
import {
  awaitServers,
  LONG_WAIT_MS,
  missingServers,
  type OpenManager,
  openManager,
  readConfig,
  SHORT_WAIT_MS,
  SWITCHED_OFF,
  shippedConfig,
  startManager,
  warnMissing,
  withoutServers,
} from '../common/open.ts'
import {
  actions,
  type Done,
  fitted,
  type GlobalOptions,
  printableLine,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'
import { type Finding, findProblems, WarningLog } from './check.ts'

const HELP = `
Parameters are one JSON object, - to read it from stdin, or key=value pairs. The tool's schema decides how the value of
a pair is read: as text if the tool takes text, otherwise as JSON.

Examples:
  $ toolyard exec get_weather location="New York" units=fahrenheit
  $ toolyard exec datetime '{"operation":"now","timezone":"Europe/Paris"}'
  $ toolyard exec search_documents query="deadline" max_results=2 --json`

export function defineExec(exec: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  exec
    .argument('<tool>', 'the name of the tool')
    .argument('[params...]', 'a JSON object, - for stdin, or key=value pairs')
    .option('--timeout <ms>', 'timeout of the call, 1000 to 60000')
    .option('--approval <id>', 'run the call that was approved with this id')
    .addHelpText('after', HELP)
    .action(run(execTool))
}

export interface ExecOptions extends GlobalOptions {
  readonly timeout?: string
  readonly approval?: string
}

/** `toolyard exec`: runs one tool; 1 if the call failed. */
async function execTool(
  terminal: Terminal,
  name: string,
  words: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const timeoutMs = readTimeout(terminal, options.timeout)
  const change = (config: Config) => (isLocal(config, name) ? withoutServers(config) : config)
  const opened = await openManager(terminal, options, { change })
  const { manager, report } = opened
  try {
    const registry = manager.getRegistry()
    const isThere = () => registry.find(name) !== undefined
    if (!isThere()) await awaitServers(manager, { ms: LONG_WAIT_MS, enough: isThere, terminal })
    if (!isThere()) warnMissing(terminal, opened)
    const code = await runCall(terminal, opened, name, words, { ...options, timeoutMs })
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    const skipped = report.skipped.find((one) => one.name === name)
    if (skipped) terminal.note(printableLine(`The definition of '${name}' is invalid: ${skipped.problem}`))
    return code
  } finally {
    await opened.close()
  }
}

/** Whether the configuration defines the tool without an MCP server. */
function isLocal({ tools }: Config, name: string): boolean {
  const definition = tools?.registry?.find((one) => (Object(one) as { name?: unknown }).name === name)
  const { implementation } = Object(definition) as { implementation?: unknown }
  return definition !== undefined && (Object(implementation) as { type?: unknown }).type !== 'mcp'
}

export function defineDemo(demo: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  demo.action(run(runDemo))
}

interface Step {
  readonly says: string
  readonly tool: string
  readonly params: Params
}

/** A tool whose service never answers; only the demo has it. */
const SILENT_SERVICE: ToolDefinition = {
  name: 'silent_service',
  description: 'Asks a service that never answers.',
  parameters: { type: 'object', properties: {} },
  implementation: { type: 'internal', handler: 'silent_service' },
  timeout_ms: 500,
}

const STEPS: readonly Step[] = [
  { says: 'A tool answers.', tool: 'get_weather', params: { location: 'Paris' } },
  {
    says: 'An expression runs in a separate process, which can be stopped.',
    tool: 'calculate',
    params: { expression: '45 * 15 / 100' },
  },
  { says: 'What time is it in Tokyo?', tool: 'datetime', params: { operation: 'now', timezone: 'Asia/Tokyo' } },
  {
    says: 'Invalid parameters: the tool does not run, and the error names every problem.',
    tool: 'get_weather',
    params: { units: 'kelvin' },
  },
  { says: 'An unknown tool: the error suggests similar names.', tool: 'get_wether', params: {} },
  { says: 'A service that never answers: the call times out.', tool: 'silent_service', params: {} },
]

const NEXT = [
  ['npx toolyard tools', 'list the tools'],
  ['npx toolyard exec get_weather location=Zurich', 'run a tool yourself'],
  [`npx toolyard exec calculate '{"expression":"sqrt(2)"}' --json`, 'the JSON envelope, for programs'],
  [`npx toolyard chat "What's the weather in Zurich?"`, 'ask a model that can use the tools'],
  ['npx toolyard --help', 'all other commands'],
] as const

/** `toolyard demo`: six calls that succeed or fail in different ways. */
async function runDemo(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(shippedConfig)
  const registry = [...(config.tools?.registry ?? []), SILENT_SERVICE]
  const handlers = new ToolHandlers()
  handlers.register('silent_service', () => new Promise(() => {}), { effect: 'read' })
  const { manager } = await startManager(terminal, { ...config, tools: { ...config.tools, registry } }, options, {
    handlers,
  })
  try {
    const calls = []
    if (!terminal.json) introduce(terminal)
    for (const [index, step] of STEPS.entries()) {
      if (!terminal.json) announce(terminal, index + 1, step)
      const result = await manager.getExecutor().execute(step.tool, step.params, { source: 'cli' })
      calls.push({ tool: step.tool, params: step.params, result })
      if (!terminal.json) terminal.result(terminal.style(result.success ? 'green' : 'yellow', indented(asText(result))))
    }
    if (terminal.json) terminal.document({ calls })
    else showNext(terminal)
    return 0
  } finally {
    await manager.close()
  }
}

function introduce(terminal: Terminal): void {
  terminal.result(terminal.style('bold', 'Toolyard runs tools for AI models.'))
  terminal.result('It validates, times out and records every call, and returns a JSON envelope. Six examples:')
}

function announce(terminal: Terminal, number: number, { says, tool, params }: Step): void {
  terminal.result(`\n${terminal.style('bold', `${number}. ${says}`)}`)
  terminal.result(`   ${tool} ${JSON.stringify(params)}`)
}

function showNext(terminal: Terminal): void {
  terminal.result(`\n${terminal.style('bold', 'Try next:')}`)
  const width = Math.max(...NEXT.map(([command]) => command.length))
  for (const [command, what] of NEXT) terminal.result(`   ${command.padEnd(width)}   ${terminal.style('dim', what)}`)
}

const indented = (text: string): string => text.replace(/^/gm, '   ')

export function defineTools(tools: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  tools
    .option('--check', 'compile every schema now; exits with 1 if a tool is broken')
    .option('--search <words>', 'only tools that do this, the best first: --search "send a message"')
    .option('--limit <count>', `how many tools --search shows (default: ${CLI_FOUND})`)
    .action(run(listTools))
}

const CLI_FOUND = 10

interface ToolsOptions extends GlobalOptions {
  readonly check?: boolean
  readonly search?: string
  readonly limit?: string
}

interface Listed {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly effect: string
  readonly parameters: object
  readonly version?: string
  readonly deprecated?: Deprecation
  /** All versions, if there are several. */
  readonly versions?: readonly string[]
  readonly broken: string | undefined
  /** The steps of a pipeline; only with `--check`. */
  readonly steps?: PipelineGraph['steps']
}

/** `toolyard tools`: lists the tools; with `--check`, 1 if a tool is broken or invalid. */
async function listTools(terminal: Terminal, options: ToolsOptions): Promise<number> {
  const most = readLimit(options)
  const log = options.check ? new WarningLog() : undefined
  const open = await openManager(terminal, options, { lists: true, ...(log && { log }) })
  try {
    const { skipped } = open.report
    const found = log === undefined ? undefined : await findProblems(open, log)
    await awaitServers(open.manager, { ms: SHORT_WAIT_MS, terminal })
    const warnings = warningsOf(open, found)
    const all = open.manager.getRegistry().definitions()
    const { search } = options
    const tools = search === undefined ? all : await open.manager.getDiscovery().search(search, all, { most })
    const listed = list(open, tools, options.check === true)
    if (search !== undefined && listed.length === 0) terminal.note(`No tools match "${printableLine(search)}".`)
    const enabled = open.manager.isEnabled()
    if (terminal.json)
      terminal.document({ enabled, tools: listed, skipped, warnings, missing_servers: missingServers(open) })
    else show(terminal, listed, open, warnings)
    const faults = listed.filter((tool) => tool.broken !== undefined).length + skipped.length
    if (options.check && !terminal.json) terminal.note(checked(listed.length, faults, warnings.length))
    return options.check && faults > 0 ? 1 : 0
  } finally {
    await open.close()
  }
}

function readLimit({ search, limit }: ToolsOptions): number {
  if (limit === undefined) return CLI_FOUND
  if (search === undefined) throw new UsageError('--limit needs --search.')
  const most = Number(limit)
  if (Number.isInteger(most) && most >= 1 && most <= MAX_FOUND) return most
  throw new UsageError(`--limit takes a whole number from 1 to ${MAX_FOUND}, not '${printableLine(limit)}'.`)
}

function list({ manager }: OpenManager, tools: readonly ToolDefinition[], check: boolean): Listed[] {
  const registry = manager.getRegistry()
  const executor = manager.getExecutor()
  return tools.map((tool) => {
    const { version, deprecated } = tool
    const fault = check ? executor.check(tool.name) : undefined
    const { type } = tool.implementation
    const broken = registry.brokenReason(tool.name) ?? fault
    const graph = check ? manager.getPipeline(tool, LOCAL_TENANT) : undefined
    return {
      ...(graph && { steps: graph.steps }),
      name: tool.name,
      description: tool.description,
      kind: type,
      effect: executor.effectOf(tool.name) ?? 'write',
      parameters: tool.parameters,
      ...(version !== undefined && { version }),
      ...(deprecated !== undefined && { deprecated }),
      ...(registry.hasVersions(tool.name) && { versions: registry.versionsOf(tool.name).map(versionOf) }),
      broken,
    }
  })
}

/** Without the reasons that the list shows. */
function warningsOf({ manager, report }: OpenManager, found: readonly Finding[] | undefined): LoadReport['warnings'] {
  const all =
    found?.flatMap(({ level, place: name, problem }) => (level === 'warning' ? [{ name, problem }] : [])) ??
    report.warnings
  return all.filter(({ name, problem }) => manager.getRegistry().brokenReason(name) !== problem)
}

function show(
  terminal: Terminal,
  listed: readonly Listed[],
  open: OpenManager,
  warnings: LoadReport['warnings'],
): void {
  const { manager, report, fallback } = open
  const rows = listed.map((tool) => [tool.name, tool.kind, tool.effect].map(printableLine))
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  const indent = widths.reduce((sum, width) => sum + width + 2, 0)
  for (const [index, tool] of listed.entries()) {
    const [name, kind, effect] = (rows[index] ?? []).map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2))
    const notes = [tool.version ?? [], tool.deprecated === undefined ? [] : 'deprecated'].flat()
    const noted = notes.length === 0 ? '' : `(${notes.join(', ')}) `
    const text = tool.broken === undefined ? `${noted}${tool.description}` : `BROKEN: ${tool.broken}`
    const room = terminal.watched ? Math.max(20, terminal.columns - indent) : Number.POSITIVE_INFINITY
    const rest = fitted(printableLine(text), room)
    const shown = tool.broken === undefined ? rest : terminal.style('red', rest)
    terminal.result(`${terminal.style('bold', name ?? '')}${terminal.style('dim', `${kind}${effect}`)}${shown}`)
    for (const step of tool.steps ?? []) terminal.result(terminal.style('dim', `  ${printableLine(stepLine(step))}`))
  }
  if (fallback) terminal.note('This folder has no toolyard.config.json: these are the tools that ship with Toolyard.')
  if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
  else if (listed.length + report.skipped.length === 0)
    terminal.note('The configuration has no tools: add some to tools.registry.')
  for (const { name, problem } of report.skipped) terminal.note(`Skipped: ${printableLine(`${name}: ${problem}`)}`)
  for (const { name, problem } of warnings) terminal.note(`Warning: ${printableLine(`${name}: ${problem}`)}`)
  warnMissing(terminal, open)
}

/** `mail: send_mail, for each item, after fetch and check` */
function stepLine({ id, tool, after, for_each, when }: PipelineGraph['steps'][number]): string {
  const parts = [tool, ...(when ? ['conditional'] : []), ...(for_each ? ['for each item'] : [])]
  if (after.length > 0) parts.push(`after ${after.join(' and ')}`)
  return `${id}: ${parts.join(', ')}`
}

function checked(tools: number, faults: number, warnings: number): string {
  const found = faults === 0 ? 'every schema compiles' : `${faults} faulty`
  return `Checked ${counted(tools, 'tool')}: ${found}${warnings > 0 ? `, ${counted(warnings, 'warning')}` : ''}.`
}
