import type { Command } from 'commander'
import { serverTools } from '../../../app/tools/mcp-status.ts'
import { suggest } from '../../../core/suggest.ts'
import type { ToolFailure } from '../../../core/tool-result.ts'
import { ConnectFailure } from '../../../mcp/client/failures.ts'
import { listAll, type ServerTool, serverTool } from '../../../mcp/client/listed-tool.ts'
import { pinsOf, type ToolChange, toolChanges } from '../../../mcp/client/pinned-tools.ts'
import { readTimeout, runCall, showResult } from '../../common/call.ts'
import { commandUser, type OpenServer, openServer, SWITCHED_OFF } from '../../common/open.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printable,
  printableLine,
  type Terminal,
  UsageError,
} from '../../common/terminal.ts'
import type { ExecOptions } from '../tools.ts'
import { failureLines, mcpList, mcpTest } from './mcp-status.ts'

const HELP = `
The servers are those under mcpServers in the configuration.

Examples:
  $ toolyard mcp list                                    the servers and what they offer
  $ toolyard mcp test memory                             find out why a server does not work
  $ toolyard mcp call memory search_nodes query=Ada      call a tool, as exec does
  $ toolyard mcp serve                                   serve the tools over stdin and stdout`

const SERVER = ['<server>', 'the name of the server in mcpServers'] as const
const TIMEOUT_MS = 60_000

export function defineMcp(mcp: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  mcp.addHelpText('after', HELP)

  mcp.command('list').description('List the servers: state, tools, resources and prompts').action(run(mcpList))

  mcp
    .command('test')
    .description('Connect to a server step by step and report what fails')
    .argument(...SERVER)
    .action(run(mcpTest))

  mcp
    .command('call')
    .description('Run a tool of a server and print its result')
    .argument(...SERVER)
    .argument('<tool>', 'the name of the tool on the server')
    .argument('[params...]', 'a JSON object, - for stdin, or key=value pairs')
    .option('--timeout <ms>', 'timeout of the call, 1000 to 60000')
    .action(run(mcpCall))

  mcp
    .command('read')
    .description('Print a resource of a server')
    .argument(...SERVER)
    .argument('<uri>', 'the URI of the resource')
    .action(run(mcpRead))

  mcp
    .command('approve')
    .description('Show how the tools of a pinned server have changed, and approve the changes')
    .argument(...SERVER)
    .action(run(mcpApprove))

  mcp
    .command('login')
    .description('Log in to an HTTP server that requires authorization')
    .argument(...SERVER)
    .argument('[answer]', 'without a terminal: the URL that the browser was redirected to')
    .action(async (server: string, answer: string | undefined, _, command: Command) => {
      const { mcpLogin } = await import('./mcp-login.ts')
      done(await mcpLogin(terminal, server, answer, command.optsWithGlobals()))
    })

  mcp
    .command('logout')
    .description('Delete the stored tokens of a server')
    .argument(...SERVER)
    .action(async (server: string, _, command: Command) => {
      const { mcpLogout } = await import('./mcp-login.ts')
      done(await mcpLogout(terminal, server, command.optsWithGlobals()))
    })

  mcp
    .command('serve')
    .description('Serve the permitted tools over MCP, on stdin and stdout or over HTTP')
    .option('--http [port]', 'over HTTP: the same as "toolyard serve --port" (default port 4747)')
    .option('--only <name>', 'over stdin and stdout: only the part that mcp.servers_out.<name> describes')
    .action(async (_, command: Command) => {
      const { mcpServe } = await import('./mcp-serve.ts')
      done(await mcpServe(terminal, command.optsWithGlobals()))
    })
}

/** `toolyard mcp call`: runs a tool of one server, as `exec` does; 1 if the call failed. */
async function mcpCall(
  terminal: Terminal,
  server: string,
  tool: string,
  words: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const timeoutMs = readTimeout(terminal, options.timeout)
  const opened = await openServer(terminal, server, options)
  try {
    if (!opened.manager.isEnabled()) throw new UsageError(SWITCHED_OFF)
    await opened.connection.client(AbortSignal.timeout(TIMEOUT_MS))
    const name = registeredName(opened, tool)
    if (name === undefined) return fail(terminal, notFound(opened, tool))
    return await runCall(terminal, opened, name, words, { ...options, timeoutMs })
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error
    const { message, code } = error
    fail(terminal, { success: false, error: message, error_code: code, tool_name: tool, execution_time_ms: 0 })
    if (!terminal.json) for (const line of failureLines(error)) terminal.note(`  ${line}`)
    return 1
  } finally {
    await opened.close()
  }
}

/** The name of the tool in the registry, which differs if another tool has its name. */
const registeredName = ({ manager, connection }: OpenServer, tool: string): string | undefined =>
  serverTools(manager.getRegistry())
    .get(connection.settings.name)
    ?.find((one) => one.tool === tool)?.name

function notFound({ manager, connection }: OpenServer, tool: string): ToolFailure {
  const { name } = connection.settings
  const names = manager
    .getMcpServers()
    .tools(name)
    .map((one) => one.name)
  return {
    success: false,
    error: `Tool '${tool}' not found on MCP server '${name}'`,
    error_code: 'TOOL_NOT_FOUND',
    tool_name: tool,
    execution_time_ms: 0,
    suggestions: suggest(tool, names),
  }
}

function fail(terminal: Terminal, result: ToolFailure): number {
  if (terminal.json) terminal.document(result)
  else showResult(terminal, result)
  return 1
}

/** `toolyard mcp read`: prints a resource; binary content is printed in base64. */
async function mcpRead(terminal: Terminal, server: string, uri: string, options: GlobalOptions): Promise<number> {
  const { connection, close } = await openServer(terminal, server, options)
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { contents } = await (await connection.client(signal)).readResource({ uri }, { signal })
    if (terminal.json) terminal.document({ contents })
    else for (const part of contents) terminal.result('text' in part ? printable(part.text) : part.blob)
    return 0
  } finally {
    await close()
  }
}

/** `toolyard mcp approve`: shows the changes since a server was pinned, and approves them. */
async function mcpApprove(terminal: Terminal, server: string, options: GlobalOptions): Promise<number> {
  const opened = await openServer(terminal, server, options)
  const { name, pin } = opened.connection.settings
  try {
    if (pin !== true) {
      throw new UsageError(
        `MCP server '${name}' is not pinned, so all its tools are allowed: set "pin": true to pin it.`,
      )
    }
    const listed = await listTools(opened)
    const store = opened.pins
    const pins = (await store.read(name)) ?? {}
    const changes = toolChanges(listed, pins)
    if (changes.length > 0) await store.write(name, pinsOf(listed, pins), commandUser())
    if (terminal.json) terminal.document({ server: name, approved: changes })
    else showChanges(terminal, name, changes)
    return 0
  } finally {
    await opened.close()
  }
}

/** All tools that the server lists, also those that are not approved. */
async function listTools({ connection }: OpenServer): Promise<ServerTool[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const client = await connection.client(signal)
  if (client.getServerCapabilities()?.tools === undefined) return []
  const tools = new Map<string, ServerTool>()
  for (const entry of await listAll(client, 'tools/list', 'tools', signal)) {
    const tool = serverTool(entry, connection.settings.name)
    if (typeof tool !== 'string' && !tools.has(tool.name)) tools.set(tool.name, tool)
  }
  return [...tools.values()]
}

function showChanges(terminal: Terminal, server: string, changes: readonly ToolChange[]): void {
  for (const { tool, change, parts, description } of changes) {
    const what = parts === undefined ? change : `${change}: ${parts.join(' and ')}`
    terminal.result(`${terminal.style('bold', printableLine(tool))}  ${what}`)
    if (description !== undefined) terminal.result(`  ${printableLine(description)}`)
  }
  terminal.note(
    changes.length === 0
      ? `Nothing to approve: the tools of ${server} have not changed.`
      : `Approved. A running server applies this when it reconnects to ${server}.`,
  )
}
