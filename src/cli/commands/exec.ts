import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { readTimeout, runCall } from '../common/call.ts'
import { awaitServers, LONG_WAIT_MS, openManager, SWITCHED_OFF, warnMissing, withoutServers } from '../common/open.ts'
import { actions, type Done, type GlobalOptions, printableLine, type Terminal } from '../common/terminal.ts'

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
    .addHelpText('after', HELP)
    .action(run(execTool))
}

export interface ExecOptions extends GlobalOptions {
  readonly timeout?: string
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
    if (!isThere()) await awaitServers(manager, { ms: LONG_WAIT_MS, enough: isThere })
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
