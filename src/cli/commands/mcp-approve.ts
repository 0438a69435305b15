import { listAll } from '../../mcp/client/list-all.ts'
import { type ServerTool, serverTool } from '../../mcp/client/listed-tool.ts'
import { pinsOf } from '../../mcp/client/pinned-tools.ts'
import { type ToolChange, toolChanges } from '../../mcp/client/tool-changes.ts'
import type { GlobalOptions } from '../global-options.ts'
import { type OpenServer, openServer } from '../open.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

const PATIENCE_MS = 60_000

/** `toolyard mcp approve`: shows what has changed since a server was pinned, and admits it. */
export async function mcpApprove(terminal: Terminal, server: string, options: GlobalOptions): Promise<number> {
  const opened = await openServer(terminal, server, options)
  const { name, pin } = opened.connection.settings
  try {
    if (pin !== true) {
      throw new UsageError(`MCP server '${name}' is not pinned, so everything is admitted: "pin": true pins it.`)
    }
    const listed = await listTools(opened)
    const store = opened.pins
    const changes = toolChanges(listed, (await store.read(name)) ?? {})
    if (changes.length > 0) await store.write(name, pinsOf(listed))
    if (terminal.json) terminal.document({ server: name, approved: changes })
    else show(terminal, name, changes)
    return 0
  } finally {
    await opened.close()
  }
}

/** All that the server lists, refused or not. */
async function listTools({ connection }: OpenServer): Promise<ServerTool[]> {
  const signal = AbortSignal.timeout(PATIENCE_MS)
  const client = await connection.client(signal)
  if (client.getServerCapabilities()?.tools === undefined) return []
  const tools = new Map<string, ServerTool>()
  for (const entry of await listAll(client, 'tools/list', 'tools', signal)) {
    const tool = serverTool(entry, connection.settings.name)
    if (typeof tool !== 'string' && !tools.has(tool.name)) tools.set(tool.name, tool)
  }
  return [...tools.values()]
}

function show(terminal: Terminal, server: string, changes: readonly ToolChange[]): void {
  for (const { tool, change, parts, description } of changes) {
    const what = parts === undefined ? change : `${change}: ${parts.join(' and ')}`
    terminal.result(`${terminal.style('bold', printableLine(tool))}  ${what}`)
    if (description !== undefined) terminal.result(`  ${printableLine(description)}`)
  }
  terminal.note(
    changes.length === 0
      ? `Nothing to approve: the tools of ${server} are as they were pinned.`
      : `Approved. A Toolyard that runs already takes this up when it connects to ${server} again.`,
  )
}
