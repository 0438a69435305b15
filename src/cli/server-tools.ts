import type { ToolManager } from '../config/tool-manager.ts'

/** The registered tools of one MCP server: what each is called here, and what its server calls it. */
export function serverTools(manager: ToolManager, server: string): { readonly name: string; readonly tool: string }[] {
  return manager
    .getRegistry()
    .definitions()
    .flatMap(({ name, implementation }) => {
      const { type, server: owner, tool = name } = { ...implementation }
      return type === 'mcp' && owner === server ? [{ name, tool: String(tool) }] : []
    })
}
