import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import { loadOptional } from '../core/optional-package.ts'
import { type AdapterOptions, adapterContext, handOut } from './adapter.ts'
import type { Rest } from './options.ts'
import type { Toolyard } from './toolyard.ts'

/** The part of a LangChain tool that all versions have. */
export type HandedTool = {
  readonly name: string
  readonly description: string
  invoke(input: object, config?: object): Promise<unknown>
}

/**
 * Converts tools to LangChain tools, for `createAgent` or `bindTools`. Needs the package `@langchain/core`. `Tool` is the
 * LangChain type to return.
 */
export function toLangChain<Tool = HandedTool, App = unknown>(
  // biome-ignore lint/suspicious/noExplicitAny: the tools don't matter.
  yard: Toolyard<any, App, any>,
  ...[options]: Rest<AdapterOptions, App>
): Promise<Tool[]>
/** The same for an executor or a manager: all tools that the caller may use, or only those in `allowed`. */
export function toLangChain<Tool = HandedTool>(
  runtime: ToolExecutor | { getExecutor(): ToolExecutor },
  allowed?: readonly string[],
  caller?: CallContext,
): Promise<Tool[]>
export async function toLangChain(
  runtime: Toolyard | ToolExecutor | { getExecutor(): ToolExecutor },
  given?: AdapterOptions | readonly string[],
  caller: CallContext = {},
): Promise<unknown[]> {
  const { ExecutedTool } = await loadOptional('toLangChain', ['@langchain/core'], () => import('./executed-tool.ts'))
  const known = Object(runtime) as typeof runtime
  if ('executor' in known) {
    const options = given as AdapterOptions | undefined
    const tools = handOut(known.executor, options?.tools, adapterContext('toLangChain', options))
    return tools.map((tool) => new ExecutedTool(tool))
  }
  const executor = 'getExecutor' in known ? known.getExecutor() : known
  return handOut(executor, given as readonly string[] | undefined, caller).map((tool) => new ExecutedTool(tool))
}
