import type { CallContext } from '../core/call-context.ts'
import { missingPermission } from '../core/execution/permit.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import { loadOptional } from '../core/optional-package.ts'

/** An executor, or a manager that has one. */
type Runtime = ToolExecutor | { getExecutor(): ToolExecutor }

/** The caller. LangChain passes the signal with each call. */
type Caller = Omit<CallContext, 'signal'>

/** The part of a LangChain tool that all versions have. */
export interface HandedTool {
  readonly name: string
  readonly description: string
  invoke(input: object, config?: object): Promise<unknown>
}

/**
 * Converts tools to LangChain tools, for `createAgent` or `bindTools`: all that the caller may use, or only those in
 * `allowed`. Needs the package `@langchain/core`. `Tool` is the LangChain type to return.
 */
export async function toLangChain<Tool = HandedTool>(
  runtime: Runtime,
  allowed?: readonly string[],
  caller: Caller = {},
): Promise<Tool[]> {
  const { ExecutedTool } = await loadOptional('toLangChain', ['@langchain/core'], () => import('./executed-tool.ts'))
  const executor = 'getExecutor' in runtime ? runtime.getExecutor() : runtime
  const { registry } = executor
  const names = allowed && new Set(allowed)
  return registry
    .definitions()
    .filter((tool) => {
      const wanted = names?.has(tool.name) !== false && caller.visible?.has(tool.name) !== false
      const works = registry.brokenReason(tool.name) === undefined
      return wanted && works && missingPermission(tool, caller) === undefined
    })
    .map((tool) => new ExecutedTool(tool, executor, caller) as Tool)
}
