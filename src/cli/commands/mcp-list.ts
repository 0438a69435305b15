import type { McpServerStatus } from '../../config/mcp-server-status.ts'
import { readMcpServers } from '../../config/mcp-settings.ts'
import type { McpConnection } from '../../mcp/client/mcp-connection.ts'
import type { GlobalOptions } from '../global-options.ts'
import { awaitServers, configFile, LONG_WAIT_MS, openManager, readConfig, SWITCHED_OFF } from '../open.ts'
import { printableLine } from '../printable.ts'
import { type ServerContents, serverContents } from '../server-contents.ts'
import type { Terminal } from '../terminal.ts'

interface Listed extends McpServerStatus, Partial<ServerContents> {
  readonly protocol?: string
}

/** So many of each are shown to people. */
const MOST_SHOWN = 20

/** `toolyard mcp list`: every server, whether it can be reached, and what it offers. */
export async function mcpList(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(configFile(terminal, options.config))
  const { warnings } = readMcpServers(config, terminal.env, terminal.cwd)
  const { manager, close } = await openManager(terminal, options, { change: () => config })
  try {
    await awaitServers(manager, { ms: LONG_WAIT_MS })
    const servers = manager.getMcpServers()
    const found = await Promise.all(servers.names.map((name) => look(servers.connection(name))))
    const contents = new Map(servers.names.map((name, index) => [name, found[index]]))
    const listed: Listed[] = manager.getMcpStatus().map((status) => ({ ...status, ...contents.get(status.name) }))
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

/** What a server has besides its tools; where it cannot be asked, the whole reason. */
async function look(connection: McpConnection): Promise<Partial<Listed>> {
  try {
    // One that has failed is not waited for once more.
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

function show(terminal: Terminal, server: Listed): void {
  const { name, state, protocol, problem, tools = [], resources = [], resource_templates = [], prompts = [] } = server
  const states = {
    connected: terminal.style('green', `connected${protocol === undefined ? '' : `, protocol ${protocol}`}`),
    not_reachable: terminal.style('red', printableLine(`not reachable: ${problem}`)),
    left_out: terminal.style('red', printableLine(`left out: ${problem}`)),
    disabled: terminal.style('dim', 'disabled'),
    connecting: terminal.style('red', 'has not answered yet'),
    idle: terminal.style('dim', 'not connected'),
  }
  terminal.result(`${terminal.style('bold', name)}  ${states[state]}`)
  const lines = (what: string, names: readonly string[]) => {
    for (const one of names.slice(0, MOST_SHOWN)) terminal.result(`  ${what.padEnd(8)}  ${printableLine(one)}`)
    if (names.length > MOST_SHOWN) terminal.result(`  ${what.padEnd(8)}  … and ${names.length - MOST_SHOWN} more`)
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
