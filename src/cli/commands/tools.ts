import type { Command } from 'commander'
import { counted } from '../../core/schema/problem-words.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import {
  awaitServers,
  missingServers,
  type OpenManager,
  openManager,
  SHORT_WAIT_MS,
  SWITCHED_OFF,
  warnMissing,
} from '../common/open.ts'
import { actions, type Done, type GlobalOptions, printableLine, type Terminal } from '../common/terminal.ts'

export function defineTools(tools: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  tools.option('--check', 'compile every schema now; exits with 1 if a tool is broken').action(run(listTools))
}

interface ToolsOptions extends GlobalOptions {
  readonly check?: boolean
}

interface Listed {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly effect: string
  readonly parameters: object
  readonly broken: string | undefined
}

/** `toolyard tools`: lists the tools; with `--check`, 1 if a tool is broken or invalid. */
async function listTools(terminal: Terminal, options: ToolsOptions): Promise<number> {
  const open = await openManager(terminal, options)
  try {
    const { skipped, warnings } = open.report
    await awaitServers(open.manager, { ms: SHORT_WAIT_MS })
    const listed = list(open, options.check === true)
    const enabled = open.manager.isEnabled()
    if (terminal.json)
      terminal.document({ enabled, tools: listed, skipped, warnings, missing_servers: missingServers(open) })
    else show(terminal, listed, open)
    const faults = listed.filter((tool) => tool.broken !== undefined).length + skipped.length
    if (options.check && !terminal.json) terminal.note(checked(listed.length, faults, warnings.length))
    return options.check && faults > 0 ? 1 : 0
  } finally {
    await open.close()
  }
}

function list({ manager, report }: OpenManager, check: boolean): Listed[] {
  const registry = manager.getRegistry()
  const executor = manager.getExecutor()
  return registry.definitions().map((tool: ToolDefinition) => {
    const fault = check ? executor.check(tool.name) : undefined
    const { type } = tool.implementation
    // The application may still register a missing handler, but not a missing kind.
    const unknown = executor.hasKind(type) ? undefined : report.warnings.find((one) => one.name === tool.name)?.problem
    const broken = registry.brokenReason(tool.name) ?? fault ?? unknown
    return {
      name: tool.name,
      description: tool.description,
      kind: type,
      effect: executor.effectOf(tool.name) ?? 'write',
      parameters: tool.parameters,
      broken,
    }
  })
}

function show(terminal: Terminal, listed: readonly Listed[], open: OpenManager): void {
  const { manager, report, fallback } = open
  const rows = listed.map((tool) => [tool.name, tool.kind, tool.effect].map(printableLine))
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  const indent = widths.reduce((sum, width) => sum + width + 2, 0)
  for (const [index, tool] of listed.entries()) {
    const [name, kind, effect] = (rows[index] ?? []).map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2))
    const text = tool.broken === undefined ? tool.description : `BROKEN: ${tool.broken}`
    const room = terminal.watched ? Math.max(20, terminal.columns - indent) : Number.POSITIVE_INFINITY
    const rest = shortened(printableLine(text), room)
    const shown = tool.broken === undefined ? rest : terminal.style('red', rest)
    terminal.result(`${terminal.style('bold', name ?? '')}${terminal.style('dim', `${kind}${effect}`)}${shown}`)
  }
  if (fallback) terminal.note('This folder has no toolyard.config.json: these are the tools that ship with Toolyard.')
  if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
  else if (listed.length === 0) terminal.note('The configuration has no tools: add some to tools.registry.')
  for (const { name, problem } of report.skipped) terminal.note(`Skipped: ${printableLine(`${name}: ${problem}`)}`)
  for (const { name, problem } of report.warnings) terminal.note(`Warning: ${printableLine(`${name}: ${problem}`)}`)
  warnMissing(terminal, open)
}

const shortened = (text: string, room: number): string => (text.length > room ? `${text.slice(0, room - 1)}…` : text)

function checked(tools: number, faults: number, warnings: number): string {
  const found = faults === 0 ? 'every schema compiles' : `${faults} faulty`
  return `Checked ${counted(tools, 'tool')}: ${found}${warnings > 0 ? `, ${counted(warnings, 'warning')}` : ''}.`
}
