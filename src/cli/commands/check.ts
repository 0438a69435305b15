import type { Command } from 'commander'
import { mcpEntries } from '../../config/mcp-settings.ts'
import type { Log } from '../../core/log.ts'
import { counted } from '../../core/schema/problem-words.ts'
import { awaitServers, LONG_WAIT_MS, missingServers, type OpenManager, openManager } from '../common/open.ts'
import { actions, type Done, type GlobalOptions, printableLine, type Terminal } from '../common/terminal.ts'

/** Something to fix in a configuration. */
export interface Finding {
  /** Tools that can't run are errors, everything else is a warning. */
  readonly level: 'error' | 'warning'
  readonly place: string
  readonly problem: string
}

interface CheckOptions extends GlobalOptions {
  readonly strict?: boolean
}

export function defineCheck(check: Command, terminal: Terminal, done: Done): void {
  check.option('--strict', 'exit with 1 on warnings, too').action(actions(terminal, done)(checkConfiguration))
}

/** `toolyard check`: reports what is wrong with the configuration; 1 if tools can't run. */
async function checkConfiguration(terminal: Terminal, options: CheckOptions): Promise<number> {
  const warnings = new WarningLog()
  const open = await openManager(terminal, options, { log: warnings, record: false, lists: true })
  try {
    const findings = await findProblems(open, warnings)
    const errors = findings.filter(({ level }) => level === 'error')
    if (terminal.json) terminal.document({ success: errors.length === 0, findings })
    else show(terminal, findings, open)
    return errors.length > 0 || (options.strict && findings.length > 0) ? 1 : 0
  } finally {
    await open.close()
  }
}

/** Collects the warnings of a configuration that is opened with it. */
export class WarningLog implements Log {
  readonly warnings: { readonly place: string; readonly problem: string }[] = []

  debug(): void {}
  info(): void {}
  error(): void {}

  /** Other warnings are about what happens, not about the configuration. */
  warn(fields: object): void {
    const { place, problem, tool, provider, server } = fields as Readonly<Record<string, unknown>>
    if (typeof problem !== 'string') return
    const where = place ?? tool ?? provider ?? (server === undefined ? 'configuration' : `mcpServers.${server}`)
    this.warnings.push({ place: String(where), problem })
  }

  isLevelEnabled(level: string): boolean {
    return level === 'warn'
  }
}

/** Providers, rules, MCP servers and tools. Waits for the MCP servers. */
export async function findProblems(open: OpenManager, log: WarningLog): Promise<readonly Finding[]> {
  const { manager, report } = open
  const registry = manager.getRegistry()
  await manager.getModels()
  await awaitServers(manager, { ms: LONG_WAIT_MS })
  // The rules are checked against the tools when the last server has settled.
  await new Promise((resolve) => setImmediate(resolve))
  const errors = new Map(report.skipped.map(({ name, problem }) => [name, `It was skipped: ${problem}`]))
  for (const { name } of registry.definitions()) {
    const fault = manager.getExecutor().check(name)
    const reason = registry.brokenReason(name) ?? fault
    if (reason !== undefined) errors.set(name, reason)
  }
  const missing = missingServers(open).map(({ name, problem }) => ({ place: `mcpServers.${name}`, problem }))
  const told = [...log.warnings, ...missing].filter(
    ({ problem }, at, all) =>
      all.findIndex((one) => one.problem === problem) === at &&
      ![...errors.values()].some((one) => one.includes(problem)),
  )
  return [
    ...unserved(open),
    ...[...errors].map(([place, problem]) => ({ level: 'error' as const, place, problem })),
    ...told.map((one) => ({ level: 'warning' as const, ...one })),
  ]
}

/** Tools and MCP servers that nobody can use, because the configuration doesn't enable tools. */
function unserved({ config, manager }: OpenManager): Finding[] {
  if (manager.isEnabled()) return []
  const tools = config.tools?.registry?.length ?? 0
  const servers = mcpEntries(config).filter(({ server }) => server.disabled !== true).length
  const what = [
    ...(tools > 0 ? [counted(tools, 'tool')] : []),
    ...(servers > 0 ? [counted(servers, 'MCP server')] : []),
    ...(config.tools?.code_mode?.enabled ? ['code mode'] : []),
  ]
  if (what.length === 0) return []
  const isOff = config.tools?.enabled === false
  const why = isOff ? '"enabled" is false in tools' : 'add "enabled": true to tools'
  const problem = `Toolyard doesn't serve ${what.join(' and ')}: ${why}`
  return [{ level: isOff ? 'warning' : 'error', place: 'tools.enabled', problem }]
}

function show(terminal: Terminal, findings: readonly Finding[], { manager }: OpenManager): void {
  for (const { level, place, problem } of findings) {
    const word = terminal.style(level === 'error' ? 'red' : 'yellow', level === 'error' ? 'Error:' : 'Warning:')
    terminal.result(`${word} ${printableLine(`${place}: ${problem}`)}`)
  }
  const tools = counted(manager.getRegistry().list().length, 'tool')
  const found = findings.length === 0 ? 'no problems' : counted(findings.length, 'problem')
  terminal.note(`Checked the configuration with ${tools}: ${found}.`)
}
