import { type LangchainTool, toolView } from '../core/tool-view.ts'
import { convertZod } from './langchain/convert-zod.ts'
import type { OfferedTool } from './model.ts'

const views = new WeakMap<object, OfferedTool>()

/** Tools as they were registered, LangChain's among them, as models take them: the very list where nothing differs. */
export function offeredTools(tools: readonly (OfferedTool | LangchainTool)[]): readonly OfferedTool[] {
  return tools.every(isOffered) ? tools : tools.map((tool) => (isOffered(tool) ? tool : viewOf(tool)))
}

const isOffered = (tool: OfferedTool | LangchainTool): tool is OfferedTool => 'parameters' in tool

/** Always the same one, since providers compile each tool once. */
function viewOf(tool: LangchainTool): OfferedTool {
  const view = views.get(tool) ?? toolView(tool, convertZod)
  if (view.parameters.type !== 'object') throw new TypeError('Tool parameters must be an object schema')
  views.set(tool, view)
  return view
}
