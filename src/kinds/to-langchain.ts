import type { CallContext } from '../core/call-context.ts'
import { missingPermission, NO_FLAGS } from '../core/permit.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'

/** Who runs the tools: an executor, or a manager that has one. */
type Yard = ToolExecutor | { getExecutor(): ToolExecutor }

/** For whom they run; when to stop is for LangChain to say, call by call. */
type Caller = Omit<CallContext, 'signal'>

/** What is sure of a tool of LangChain, whatever the version. */
export interface HandedTool {
  readonly name: string
  readonly description: string
  invoke(input: object, config?: object): Promise<unknown>
}

/**
 * Our tools as tools of LangChain, for `createAgent` or `bindTools`: all that the caller may use, or of those the ones
 * in `allowed`. Needs the package `@langchain/core`. `Tool` is the type of LangChain that they are wanted as.
 */
export async function toLangChain<Tool = HandedTool>(
  yard: Yard,
  allowed?: readonly string[],
  caller: Caller = {},
): Promise<Tool[]> {
  const { ExecutedTool } = await import('./executed-tool.ts').catch(explained)
  const executor = 'getExecutor' in yard ? yard.getExecutor() : yard
  const { registry } = executor
  const names = allowed && new Set(allowed)
  return registry
    .definitions()
    .filter((tool) => {
      const wanted = names?.has(tool.name) !== false && caller.visible?.has(tool.name) !== false
      const works = registry.brokenReason(tool.name) === undefined
      return wanted && works && missingPermission(tool, caller.flags ?? NO_FLAGS) === undefined
    })
    .map((tool) => new ExecutedTool(tool, executor, caller) as Tool)
}

function explained(error: unknown): never {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
  throw new Error('toLangChain needs the package @langchain/core: npm install @langchain/core', { cause: error })
}
