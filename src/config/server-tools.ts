import type { ToolRegistry } from '../core/tool-registry.ts'
import type { ServerToolNames } from './server-tool-names.ts'

/** The registered tools of MCP servers, by server. */
export function serverTools(registry: ToolRegistry): Map<string, ServerToolNames[]> {
  const tools = new Map<string, ServerToolNames[]>()
  for (const { name, implementation } of registry.definitions()) {
    const { type, server, tool = name } = { ...implementation }
    if (type !== 'mcp') continue
    const known = tools.get(String(server)) ?? []
    known.push({ name, tool: String(tool) })
    tools.set(String(server), known)
  }
  return tools
}
