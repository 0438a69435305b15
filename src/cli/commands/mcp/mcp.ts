import type { Client } from '@modelcontextprotocol/client'
import type { Command } from 'commander'
import type { McpServerStatus } from '../../../app/tools/mcp-status.ts'
import { serverTools } from '../../../app/tools/mcp-status.ts'
import { readMcpServers } from '../../../config/mcp-settings.ts'
import { suggest } from '../../../core/suggest.ts'
import type { ToolFailure } from '../../../core/tool-result.ts'
import { ConnectFailure } from '../../../mcp/client/failures.ts'
import { listAll, type ServerTool, serverTool } from '../../../mcp/client/listed-tool.ts'
import type { McpConnection } from '../../../mcp/client/mcp-connection.ts'
import { connectFailure } from '../../../mcp/client/open-client.ts'
import { pinsOf, type ToolChange, toolChanges } from '../../../mcp/client/pinned-tools.ts'
import { readTimeout, runCall, showResult } from '../../common/call.ts'
import {
  awaitServers,
  commandUser,
  configFile,
  LONG_WAIT_MS,
  type OpenServer,
  openManager,
  openServer,
  readConfig,
  SWITCHED_OFF,
} from '../../common/open.ts'
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

const HELP = `
The servers are those under mcpServers in the configuration.

Examples:
  $ toolyard mcp list                                    the servers and what they offer
  $ toolyard mcp test memory                             find out why a server does not work
  $ toolyard mcp call memory search_nodes query=Ada      call a tool, as exec does
  $ toolyard mcp serve                                   serve the tools over stdin and stdout`

const SERVER = ['<server>', 'the name of the server in mcpServers'] as const
/** Limits a connection, and the lists that are read over it together. */
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

interface Listed extends McpServerStatus, Partial<ServerContents> {
  readonly protocol?: string
}

/** How many tools, resources and prompts of a server are shown without `--json`. */
const MAX_SHOWN = 20

/** `toolyard mcp list`: every server, its state and what it offers. */
async function mcpList(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(configFile(terminal, options.config))
  const { warnings } = readMcpServers(config, terminal.env, terminal.cwd)
  const { manager, close } = await openManager(terminal, options, { change: () => config })
  try {
    await awaitServers(manager, { ms: LONG_WAIT_MS })
    const servers = manager.getMcpServers()
    const found = await Promise.all(servers.names.map((name) => inspect(servers.connection(name))))
    const contents = new Map(servers.names.map((name, index) => [name, found[index]]))
    const listed: Listed[] = manager.getMcpStatus().map((status) => ({ ...status, ...contents.get(status.name) }))
    if (terminal.json) terminal.document({ servers: listed, warnings })
    else {
      for (const server of listed) showServer(terminal, server)
      if (listed.length === 0) terminal.note('The configuration has no MCP servers: add them to mcpServers.')
      if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
      for (const { name, problem } of warnings) terminal.note(`Warning: ${printableLine(`${name}: ${problem}`)}`)
    }
    return 0
  } finally {
    await close()
  }
}

/** The state of a server, and its resources and prompts. */
async function inspect(connection: McpConnection): Promise<Partial<Listed>> {
  try {
    // Don't wait again for a server that has failed.
    if (!connection.connected && connection.failure !== undefined) throw connection.failure
    const client = await connection.client(AbortSignal.timeout(LONG_WAIT_MS))
    const protocol = client.getNegotiatedProtocolVersion()
    const contents = await serverContents(client, AbortSignal.timeout(LONG_WAIT_MS))
    return { state: 'connected', ...(protocol !== undefined && { protocol }), ...contents }
  } catch (error) {
    return { state: 'not_reachable', problem: connection.failure?.reason ?? reasonOf(error) }
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function showServer(terminal: Terminal, server: Listed): void {
  const { name, state, protocol, problem, tools = [], resources = [], resource_templates = [], prompts = [] } = server
  const states = {
    connected: terminal.style('green', `connected${protocol === undefined ? '' : `, protocol ${protocol}`}`),
    not_reachable: terminal.style('red', printableLine(`not reachable: ${problem}`)),
    left_out: terminal.style('red', printableLine(`cannot be used: ${problem}`)),
    disabled: terminal.style('dim', 'disabled'),
    connecting: terminal.style('red', 'has not answered yet'),
    idle: terminal.style('dim', 'not connected'),
  }
  terminal.result(`${terminal.style('bold', name)}  ${states[state]}`)
  const lines = (what: string, names: readonly string[]) => {
    for (const one of names.slice(0, MAX_SHOWN)) terminal.result(`  ${what.padEnd(8)}  ${printableLine(one)}`)
    if (names.length > MAX_SHOWN) terminal.result(`  ${what.padEnd(8)}  … and ${names.length - MAX_SHOWN} more`)
  }
  const { stderr = '', check } = server
  if (state === 'not_reachable' && stderr !== '') terminal.result(`  MCP Server stderr: ${printableLine(stderr)}`)
  if (check !== undefined) terminal.result(`  Check: ${printableLine(check)}`)
  lines(
    'tool',
    tools.map((one) => (one.name === one.tool ? one.name : `${one.name} (${one.tool})`)),
  )
  lines(
    'resource',
    [...resources, ...resource_templates].map(({ uri }) => uri),
  )
  lines(
    'prompt',
    prompts.map((one) => one.name),
  )
}

interface Step {
  readonly step: string
  readonly ok: boolean
  readonly detail: string
}

/** `toolyard mcp test`: connects to a server step by step; 1 if a step fails. */
async function mcpTest(terminal: Terminal, server: string, options: GlobalOptions): Promise<number> {
  const opened = await openServer(terminal, server, options)
  const steps: Step[] = []
  let failure: ConnectFailure | undefined
  const add = (step: string, ok: boolean, detail: string) => {
    steps.push({ step, ok, detail })
    if (terminal.json) return
    const mark = ok ? terminal.style('green', '✓') : terminal.style('red', '✗')
    terminal.result(`${mark} ${step.padEnd(13)}  ${printableLine(detail)}`)
  }
  const { name } = opened.connection.settings
  try {
    add('configuration', true, reachOf(opened))
    const client = await connect(opened, add)
    if (client instanceof ConnectFailure) failure = client
    else await listContents(opened, client, add)
    if (terminal.json) {
      const { reason, stderr, check } = failure ?? {}
      terminal.document({ server: name, ok: steps.every(({ ok }) => ok), steps, reason, stderr, check })
    } else for (const line of failure ? failureLines(failure) : []) terminal.result(`  ${line}`)
    return steps.every(({ ok }) => ok) ? 0 : 1
  } finally {
    await opened.close()
  }
}

type Add = (step: string, ok: boolean, detail: string) => void

async function connect({ connection }: OpenServer, add: Add): Promise<Client | ConnectFailure> {
  const began = performance.now()
  try {
    const client = await connection.client(AbortSignal.timeout(TIMEOUT_MS))
    const { name = 'a server', version = '' } = client.getServerVersion() ?? {}
    const took = Math.round(performance.now() - began)
    add('connection', true, `${name} ${version}, protocol ${client.getNegotiatedProtocolVersion()}, ${took} ms`)
    return client
  } catch (error) {
    add('connection', false, 'failed')
    return connectFailure(connection.settings, error, '')
  }
}

async function listContents({ connection, manager }: OpenServer, client: Client, add: Add): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const has = client.getServerCapabilities() ?? {}
  try {
    if (has.tools === undefined) add('tools', true, 'none')
    else {
      const listed = await listAll(client, 'tools/list', 'tools', signal)
      const taken = manager.getMcpServers().tools(connection.settings.name)
      const lost = listed.length - taken.length
      const left = lost === 0 ? '' : `; ${lost} more rejected: run "toolyard mcp approve", or --verbose for the reasons`
      add('tools', true, `${taken.length}: ${taken.map((tool) => tool.name).join(', ')}${left}`)
    }
    const { resources, resource_templates, prompts } = await serverContents(client, signal)
    if (has.resources !== undefined) add('resources', true, `${resources.length + resource_templates.length}`)
    if (has.prompts !== undefined) add('prompts', true, prompts.map(({ name }) => name).join(', '))
  } catch (error) {
    add('lists', false, error instanceof Error ? error.message : String(error))
  }
}

/** The command or the host; arguments and full URLs may contain secrets. */
function reachOf({ connection: { settings } }: OpenServer): string {
  const { reach } = settings
  return reach.type === 'stdio' ? `starts "${reach.command}"` : `connects to ${new URL(reach.url).host} (${reach.type})`
}

/** The resources and prompts of a server. */
interface ServerContents {
  readonly resources: readonly { readonly uri: string; readonly name: string }[]
  readonly resource_templates: readonly { readonly uri: string; readonly name: string }[]
  readonly prompts: readonly { readonly name: string; readonly description: string }[]
}

/** Lists the resources and prompts of a server; a list that the server does not support is empty. */
async function serverContents(client: Client, signal: AbortSignal): Promise<ServerContents> {
  const { resources, prompts } = client.getServerCapabilities() ?? {}
  const list = async (has: unknown, ...[method, key]: [Parameters<typeof listAll>[1], string]) =>
    has === undefined ? [] : (await listAll(client, method, key, signal)).map((one) => Object(one) as Entry)
  const [files, templates, asked] = await Promise.all([
    list(resources, 'resources/list', 'resources'),
    // A server may support resources without templates.
    list(resources, 'resources/templates/list', 'resourceTemplates').catch((): Entry[] => []),
    list(prompts, 'prompts/list', 'prompts'),
  ])
  return {
    resources: files.map(({ uri, name }) => ({ uri: text(uri), name: text(name) })),
    resource_templates: templates.map(({ uriTemplate, name }) => ({ uri: text(uriTemplate), name: text(name) })),
    prompts: asked.map(({ name, description }) => ({ name: text(name), description: text(description) })),
  }
}

type Entry = Readonly<Record<string, unknown>>

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The reason of a failed connection, the last stderr output of the server, and what to check. */
const failureLines = ({ reason, stderr, check }: ConnectFailure): string[] =>
  [`Reason: ${reason}`, ...(stderr === '' ? [] : [`MCP Server stderr: ${stderr}`]), `Check: ${check}`].map(printable)
