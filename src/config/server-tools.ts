import type { ToolRegistry } from '../core/tool-registry.ts'

/** A registered tool of an MCP server: what it is called here, and what its server calls it. */
export interface ServerToolNames {
  readonly name: string
  readonly tool: string
}

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
