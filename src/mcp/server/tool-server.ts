import {
  type CallToolResult,
  type GetPromptResult,
  isCallToolResult,
  type McpServer,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server'
import type { CallContext } from '../../core/call-context.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import type { ToolExecutor } from '../../core/tool-executor.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { type LogLevel, type Notice, type ProgressToken, ReportReader } from './report-reader.ts'
import { ToolPages } from './tool-pages.ts'

/** Who is at the other end of a connection. A session looks its rights up anew for every request. */
export interface Caller {
  context: CallContext
  /** From which level on it wants to be told what tools log; undefined: not at all. */
  logLevel: LogLevel | undefined
}

/** The caller that a context stands for. */
export const callerOf = (context: CallContext): Caller => ({ context, logLevel: undefined })

/** What `implementation.returns` says of a tool whose results may be content of the protocol: images, audio, resources. */
const RETURNS_CONTENT = 'mcp_content'

/**
 * An envelope as the protocol's answer. Only a tool whose definition says so can return content of the protocol: the
 * result of any other is data, whatever it looks like.
 */
export function callAnswer(result: ToolResult, tool: ToolDefinition | undefined): CallToolResult {
  if (!result.success) return { content: [text(result.error)], structuredContent: { ...result }, isError: true }
  const value = result.result
  if (tool?.implementation.returns === RETURNS_CONTENT && isCallToolResult(value)) return contentOf(value)
  if (typeof value === 'string') return { content: [text(value)] }
  const content = [text(JSON.stringify(value))]
  return isObject(value) ? { content, structuredContent: value } : { content }
}

/** What makes up an answer, and nothing else that the protocol could take for more than that. */
const contentOf = ({ content, structuredContent, isError, _meta }: CallToolResult): CallToolResult => ({
  content,
  ...(structuredContent !== undefined && { structuredContent }),
  ...(isError !== undefined && { isError }),
  ...(_meta !== undefined && { _meta }),
})

const text = (words: string) => ({ type: 'text', text: words }) as const

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export interface ToolServerOptions {
  readonly registry: ToolRegistry
  readonly executor: Pick<ToolExecutor, 'execute'>
  /** What the server says of itself. */
  readonly version: string
  readonly log?: Log
  readonly clock?: Clock
  /** What a tool does to the world, where its definition does not say. */
  readonly effectOf?: (tool: ToolDefinition) => Effect | undefined
  /** Resources and prompts to serve beside the tools. */
  readonly library?: Library
  /** Gets every connection before it is used, to serve methods on it that are none of ours. */
  readonly extend?: (connection: McpServer, caller: Caller) => void
}

/** One call as it came in, and where to tell its client of progress; `undefined` where nobody wants to know. */
export interface AskedCall {
  readonly name: string
  readonly args: unknown
  readonly caller: Caller
  readonly signal: CancelSignal
  readonly progressToken?: ProgressToken | undefined
  readonly logLevel?: LogLevel | undefined
  /** The `_meta` of the request, which may say what trace the call belongs to. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly notify: (notice: Notice) => void
}

/** Which list has changed. */
export type Changed = 'tools' | 'resources' | 'prompts'

/** Changes within this time are told as one. */
const QUIET_MS = 100

/** Every permitted tool of a registry, for clients of the Model Context Protocol. The HTTP and stdio handlers share it. */
export class ToolServer {
  readonly info: { readonly name: string; readonly version: string }
  readonly pages: ToolPages
  readonly library: Library | undefined
  readonly log: Log
  readonly clock: Clock
  readonly extend: ToolServerOptions['extend']
  readonly #registry: ToolRegistry
  readonly #executor: Pick<ToolExecutor, 'execute'>
  readonly #listeners = new Set<(what: Changed) => void>()
  readonly #changed = new Set<Changed>()
  readonly #stops: (() => void)[]
  #calledOff: (() => void) | undefined = undefined

  constructor(options: ToolServerOptions) {
    const { registry, executor, version, effectOf } = options
    this.info = { name: 'toolyard', version }
    this.#registry = registry
    this.library = options.library
    this.log = options.log ?? silentLog
    this.clock = options.clock ?? systemClock
    this.extend = options.extend
    this.#executor = executor
    this.pages = new ToolPages(registry, (tool) => tool.effect ?? effectOf?.(tool))
    this.#stops = [registry.onChange(() => this.#change('tools'))]
    const stop = options.library?.onChange?.((what) => this.#change(what))
    if (stop !== undefined) this.#stops.push(stop)
  }

  /** Runs a call through the executor. Only a tool that does not exist is an error of the protocol, as it demands. */
  async call(asked: AskedCall): Promise<CallToolResult> {
    const { name, args, caller, signal, progressToken, logLevel, meta, notify } = asked
    const listens = progressToken !== undefined || logLevel !== undefined
    const result = await this.#executor.execute(name, args ?? {}, {
      ...caller.context,
      source: 'mcp',
      signal,
      ...(typeof meta?.traceparent === 'string' && { traceparent: meta.traceparent }),
      ...(listens && { report: teller(new ReportReader(progressToken, logLevel), notify) }),
    })
    if (!result.success && result.error_code === 'TOOL_NOT_FOUND') {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, result.error, result)
    }
    return callAnswer(result, this.definition(name))
  }

  /** The tool of that name as a definition, wherever it comes from. */
  definition(name: string): ToolDefinition | undefined {
    const tool = this.#registry.find(name)
    return tool && this.#registry.definitionOf(tool)
  }

  /** Calls back when a list has changed, once for many changes in a row; gives the way to stop that. */
  onChange(listener: (what: Changed) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops listening to the registry. Handlers are closed separately. */
  close(): void {
    for (const stop of this.#stops) stop()
    this.#calledOff?.()
    this.#listeners.clear()
  }

  #change(what: Changed): void {
    if (this.#listeners.size === 0) return
    this.#changed.add(what)
    this.#calledOff ??= this.clock.after(QUIET_MS, () => {
      this.#calledOff = undefined
      const changed = [...this.#changed]
      this.#changed.clear()
      for (const one of changed) this.#tell(one)
    })
  }

  #tell(what: Changed): void {
    for (const listener of this.#listeners) {
      try {
        listener(what)
      } catch (error) {
        writeLog(this.log, 'warn', { err: error, changed: what }, 'A client could not be told of a change')
      }
    }
  }
}

const teller = (reader: ReportReader, notify: AskedCall['notify']) => (report: unknown) => {
  const notice = reader.read(report)
  if (notice !== undefined) notify(notice)
}

/** Resources and prompts that are served beside the tools: those of the servers that we are a client of. */
export interface Library {
  listResources(context: CallContext): Promise<readonly Resource[]>
  listResourceTemplates(context: CallContext): Promise<readonly ResourceTemplateType[]>
  /** Undefined where there is none of that address. */
  readResource(uri: string, context: CallContext): Promise<ReadResourceResult | undefined>
  listPrompts(context: CallContext): Promise<readonly Prompt[]>
  /** Undefined where there is none of that name. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<GetPromptResult | undefined>
  /** Calls back when one of the lists has changed; gives the way to stop that. */
  onChange?(listener: (what: 'resources' | 'prompts') => void): () => void
}
