import { readMcpServers } from '../../config/mcp-settings.ts'
import type { ToolManager } from '../../config/tool-manager.ts'
import type { McpConnection } from '../../mcp/client/mcp-connection.ts'
import { awaitServers, LONG_WAIT_MS } from '../await-servers.ts'
import type { GlobalOptions } from '../global-options.ts'
import { configFile, openManager, readConfig, SWITCHED_OFF } from '../open-manager.ts'
import { printableLine } from '../printable.ts'
import { type ServerContents, serverContents } from '../server-contents.ts'
import { serverTools } from '../server-tools.ts'
import type { Terminal } from '../terminal.ts'

interface Listed extends Partial<ServerContents> {
  readonly name: string
  readonly state: 'connected' | 'not_reachable' | 'left_out' | 'disabled'
  readonly protocol?: string
  readonly problem?: string
  readonly stderr?: string
  readonly check?: string
  /** `name` is what it is called here, `tool` what its server calls it. */
  readonly tools?: readonly { readonly name: string; readonly tool: string }[]
}

/** So many of each are shown to people. */
const MOST_SHOWN = 20

/** `toolyard mcp list`: every server, whether it can be reached, and what it offers. */
export async function mcpList(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(configFile(options.config))
  const { skipped, warnings, disabled } = readMcpServers(config, process.env)
  const { manager, close } = await openManager(options, () => config)
  try {
    await awaitServers(manager, { ms: LONG_WAIT_MS })
    const servers = manager.getMcpServers()
    const listed: Listed[] = [
      ...(await Promise.all(servers.names.map((name) => look(manager, servers.connection(name))))),
      ...skipped.map(({ name, problem }) => ({ name, state: 'left_out' as const, problem })),
      ...disabled.map((name) => ({ name, state: 'disabled' as const })),
    ]
    if (terminal.json) terminal.document({ servers: listed, warnings })
    else {
      for (const server of listed) show(terminal, server)
      if (listed.length === 0) terminal.note('The configuration has no MCP servers: add some to mcpServers.')
      if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
      for (const { name, problem } of warnings) terminal.note(`Warning: ${printableLine(`${name}: ${problem}`)}`)
    }
    return 0
  } finally {
    await close()
  }
}

async function look(manager: ToolManager, connection: McpConnection): Promise<Listed> {
  const { name } = connection.settings
  try {
    // One that has failed is not waited for once more.
    if (!connection.connected && connection.failure !== undefined) throw connection.failure
    const client = await connection.client(AbortSignal.timeout(LONG_WAIT_MS))
    const protocol = client.getNegotiatedProtocolVersion()
    const tools = serverTools(manager, name)
    const contents = await serverContents(client, AbortSignal.timeout(LONG_WAIT_MS))
    return { name, state: 'connected', ...(protocol !== undefined && { protocol }), tools, ...contents }
  } catch (error) {
    const { failure } = connection
    if (failure === undefined) return { name, state: 'not_reachable', problem: reasonOf(error) }
    return { name, state: 'not_reachable', problem: failure.reason, stderr: failure.stderr, check: failure.check }
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function show(terminal: Terminal, server: Listed): void {
  const { name, state, protocol, problem, tools = [], resources = [], resource_templates = [], prompts = [] } = server
  const states = {
    connected: terminal.style('green', `connected${protocol === undefined ? '' : `, protocol ${protocol}`}`),
    not_reachable: terminal.style('red', printableLine(`not reachable: ${problem}`)),
    left_out: terminal.style('red', printableLine(`left out: ${problem}`)),
    disabled: terminal.style('dim', 'disabled'),
  }
  terminal.result(`${terminal.style('bold', name)}  ${states[state]}`)
  const lines = (what: string, names: readonly string[]) => {
    for (const one of names.slice(0, MOST_SHOWN)) terminal.result(`  ${what.padEnd(8)}  ${printableLine(one)}`)
    if (names.length > MOST_SHOWN) terminal.result(`  ${what.padEnd(8)}  … and ${names.length - MOST_SHOWN} more`)
  }
  const { stderr = '', check } = server
  if (stderr !== '') terminal.result(`  MCP Server stderr: ${printableLine(stderr)}`)
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
