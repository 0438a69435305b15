import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { ModelToolParts } from './model-tool.ts'
import { modelTools } from './model-tools.ts'

/** Adds the knowledge tools, each where nobody has put a handler or a tool of that name before. */
export function registerKnowledgeTools(registry: ToolRegistry, handlers: ToolHandlers, parts: ModelToolParts): void {
  for (const { definition, handler } of modelTools(parts)) {
    const { name, effect } = definition
    if (handlers.get(name) === undefined) handlers.register(name, handler, { ...(effect && { effect }) })
    if (!registry.has(name)) registry.register(definition)
  }
}
