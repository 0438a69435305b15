import type { ToolDefinition } from '../../core/tool.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'

/** Finds tools of a registry as models are shown them. */
export const currentTool =
  (registry: ToolRegistry) =>
  (name: string): ToolDefinition | undefined => {
    const tool = registry.find(name)
    return tool && registry.definitionOf(tool)
  }
