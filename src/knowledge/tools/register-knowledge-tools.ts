import type { Handler } from '../../core/handler.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { Collections } from '../collections/collections.ts'
import { ingestDocsTool } from './ingest-docs.ts'
import type { ModelToolParts } from './model-tool.ts'
import { modelTools } from './model-tools.ts'
import { ragQueryHandler } from './rag-query.ts'

/** The handlers that were put here, and not by the host application. */
const ours = new WeakSet<object>()

/**
 * Adds the handlers of the knowledge tools, each where the host application has not put its own. Those of a
 * configuration that was read before give way.
 */
export function addKnowledgeHandlers(handlers: ToolHandlers, collections: Collections, parts: ModelToolParts): void {
  const add = (name: string, handler: Handler, effect: Effect): void => {
    const there = handlers.get(name)
    if (there !== undefined && !ours.has(there)) return
    ours.add(handler)
    handlers.register(name, handler, { effect })
  }
  add('rag_query', ragQueryHandler(collections), 'read')
  for (const { definition, handler } of knowledgeTools(collections, parts)) {
    add(definition.name, handler, definition.effect ?? 'write')
  }
}

/** Registers the knowledge tools that ask a model, unless a tool of that name exists. */
export function registerModelTools(registry: ToolRegistry, parts: ModelToolParts): void {
  for (const { definition } of modelTools(parts)) if (!registry.has(definition.name)) registry.register(definition)
}

/** The definitions of the knowledge tools by name, for configurations that list one by its name only. */
export const knowledgeDefinitions = (
  collections: Collections,
  parts: ModelToolParts,
): ReadonlyMap<string, ToolDefinition> =>
  new Map(knowledgeTools(collections, parts).map(({ definition }) => [definition.name, definition]))

const knowledgeTools = (collections: Collections, parts: ModelToolParts) => [
  ...modelTools(parts),
  ingestDocsTool(collections),
]
