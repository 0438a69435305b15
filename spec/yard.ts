import {
  type CallContext,
  type CallRecord,
  type Clock,
  type Config,
  type Handler,
  type IsolatedHandler,
  isolated,
  ProcessPool,
  type ToolDefinition,
  ToolHandlers,
  ToolManager,
  type ToolResult,
} from 'toolyard'
import { captureLog } from 'toolyard/testing'
import { onTestFinished } from 'vitest'

/** A tool of a scenario: what it runs, and what its definition says besides. */
type Tool = Omit<Partial<ToolDefinition>, 'type'> & {
  readonly run: Handler | IsolatedHandler
  readonly type?: 'builtin' | 'internal'
}

interface Surroundings {
  readonly clock?: Clock
  /** How many processes there are for isolated handlers. */
  readonly processes?: number
  readonly env?: Readonly<Record<string, string>>
  readonly enabled?: boolean
  readonly handlers?: ToolHandlers
  /** What the configuration says besides. */
  readonly config?: Config
}

/** A yard with these tools, each a handler of the host application unless it says `builtin`. */
export function yard(tools: Readonly<Record<string, Tool>>, around: Surroundings = {}) {
  const handlers = new ToolHandlers()
  const definitions = Object.entries(tools).map(([name, { run, type = 'internal', ...rest }]) => {
    handlers.register(name, run)
    const implementation = { type, handler: name }
    return { name, description: `The tool ${name}`, parameters: { type: 'object' }, implementation, ...rest }
  })
  return configured(definitions, { ...around, handlers })
}

/** A yard made from the definitions of a configuration; it is closed when the test is over. */
export async function configured(definitions: readonly unknown[], around: Surroundings = {}) {
  const { processes, enabled = true, config = {}, ...parts } = around
  const log = captureLog()
  const kept: CallRecord[] = []
  const manager = new ToolManager(
    { ...config, tools: { enabled, registry: definitions } },
    {
      ...parts,
      log,
      sinks: [{ write: ({ records }) => void kept.push(...records) }],
      ...(processes !== undefined && { isolate: new ProcessPool({ size: processes, log }) }),
    },
  )
  onTestFinished(() => manager.close())
  await manager.loadTools()
  const executor = manager.getExecutor()
  return {
    manager,
    executor,
    log,
    registry: manager.getRegistry(),
    execute: (name: string, params: unknown = {}, context: CallContext = {}) => executor.execute(name, params, context),
    records: () => {
      executor.flush()
      return kept
    },
  }
}

/** The definition of a tool that answers with a fixed value. */
export const mock = (name: string, response: unknown = name) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response: response },
})

/** A handler in a process of its own, from `isolated-handlers.ts`. */
export const inProcess = (name: 'spin' | 'hoard' | 'add'): IsolatedHandler =>
  isolated(new URL('./isolated-handlers.ts', import.meta.url), name)

/** Work that never ends. */
export const never = (): Promise<never> => new Promise(() => {})

/** Makes one call after the other for as long as the work runs; gives how many were answered. */
export async function callsBeside(work: Promise<unknown>, call: () => Promise<ToolResult>): Promise<number> {
  let working = true
  const done = work.finally(() => {
    working = false
  })
  let answered = 0
  while (working) {
    if ((await call()).success) answered++
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await done
  return answered
}
