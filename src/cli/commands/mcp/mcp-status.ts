import type { Client } from '@modelcontextprotocol/client'
import type { McpServerStatus } from '../../../app/tools/mcp-status.ts'
import { readMcpServers } from '../../../config/mcp-settings.ts'
import { ConnectFailure } from '../../../mcp/client/failures.ts'
import { listAll } from '../../../mcp/client/listed-tool.ts'
import type { McpConnection } from '../../../mcp/client/mcp-connection.ts'
import { connectFailure } from '../../../mcp/client/open-client.ts'
import {
  awaitServers,
  configFile,
  LONG_WAIT_MS,
  type OpenServer,
  openManager,
  openServer,
  readConfig,
  SWITCHED_OFF,
} from '../../common/open.ts'
import { type GlobalOptions, printable, printableLine, type Terminal } from '../../common/terminal.ts'

interface Listed extends McpServerStatus, Partial<ServerContents> {
  readonly protocol?: string
}

/** How many tools, resources and prompts of a server are shown without `--json`. */
const MAX_SHOWN = 20

/** `toolyard mcp list`: every server, its state and what it offers. */
export async function mcpList(terminal: Terminal, options: GlobalOptions): Promise<number> {
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

/** Limits the connection, and the lists together. */
const TIMEOUT_MS = 60_000

/** `toolyard mcp test`: connects to a server step by step; 1 if a step fails. */
export async function mcpTest(terminal: Terminal, server: string, options: GlobalOptions): Promise<number> {
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
export const failureLines = ({ reason, stderr, check }: ConnectFailure): string[] =>
  [`Reason: ${reason}`, ...(stderr === '' ? [] : [`MCP Server stderr: ${stderr}`]), `Check: ${check}`].map(printable)
