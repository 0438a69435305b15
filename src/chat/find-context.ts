import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'

/** The handler behind tools that search documents. */
const SEARCH_HANDLER = 'rag_query'

interface Found {
  readonly results?: readonly { readonly text?: unknown; readonly source?: unknown }[]
}

/** What the documents say about a message, as text; empty where nothing is found or nothing can be searched. */
export async function findContext(
  message: string,
  registry: ToolRegistry,
  executor: ToolExecutor,
  context: CallContext,
): Promise<string> {
  const tool = registry.definitions().find(({ implementation }) => implementation?.handler === SEARCH_HANDLER)
  if (tool === undefined) return ''
  const found = await executor.execute(tool.name, { query: message }, context)
  if (!found.success) return ''
  const { results = [] } = Object(found.result) as Found
  return results.map(({ text, source }) => `[${source}]\n${text}`).join('\n\n')
}
