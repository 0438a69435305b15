import { createRequire } from 'node:module'
import { type LangchainTool, toolView } from '../../core/execution/tool-view.ts'
import type { OfferedTool } from '../model.ts'

/**
 * Converts a Zod schema that can't describe itself (before Zod 4.2) with LangChain's converter, which comes with such
 * tools.
 */
export const convertZod = (schema: object): unknown =>
  createRequire(import.meta.url)('@langchain/core/utils/json_schema').toJsonSchema(schema)

const views = new WeakMap<object, OfferedTool>()

/** Converts LangChain tools; returns the same list if there are none. */
export function offeredTools(tools: readonly (OfferedTool | LangchainTool)[]): readonly OfferedTool[] {
  return tools.every(isOffered) ? tools : tools.map((tool) => (isOffered(tool) ? tool : viewOf(tool)))
}

const isOffered = (tool: OfferedTool | LangchainTool): tool is OfferedTool => 'parameters' in tool

/** Cached, because providers compile each tool once. */
function viewOf(tool: LangchainTool): OfferedTool {
  const view = views.get(tool) ?? toolView(tool, convertZod)
  if (view.parameters.type !== 'object') throw new TypeError('Tool parameters must be an object schema')
  views.set(tool, view)
  return view
}
