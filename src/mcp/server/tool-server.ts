import {
  type CallToolResult,
  type ContentBlock,
  isCallToolResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
} from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import type { AskableClient, CallContext } from '../../core/call-context.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { matchesGlobs, missingPermission } from '../../core/execution/permit.ts'
import type { ToolExecutor } from '../../core/execution/tool-executor.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Effect, JsonSchema, ToolDefinition } from '../../core/tool.ts'
import { type MediaPart, splitMedia, type ToolResult } from '../../core/tool-result.ts'
import { type Library, type LibraryHost, libraryOf, readCursor, writeCursor } from './library.ts'
import { OpenQuestions } from './open-questions.ts'
import type { ServedPart } from './served-part.ts'
import { directoryList, type ToolDirectory } from './tool-directory.ts'

/** The protocol's log levels, least severe first. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

export type LogLevel = (typeof LEVELS)[number]

type ProgressToken = string | number

interface Notice {
  readonly method: 'notifications/progress' | 'notifications/message'
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * Converts reports of a handler to notifications. A number, a text or `{progress, total?, message?}` is progress;
 * `{level, data, logger?}` is a log message. Returns undefined if the client didn't ask for it.
 */
export class ReportReader {
  readonly #token: ProgressToken | undefined
  readonly #level: LogLevel | undefined
  #last = -1

  constructor(token: ProgressToken | undefined, level: LogLevel | undefined) {
    this.#token = token
    this.#level = level
  }

  read(report: unknown): Notice | undefined {
    const fields = Object(report) as { level?: unknown; data?: unknown; logger?: unknown }
    return isLevel(fields.level) ? this.#log(fields.level, fields) : this.#progress(report)
  }

  #log(level: LogLevel, { data, logger }: { data?: unknown; logger?: unknown }): Notice | undefined {
    if (this.#level === undefined || LEVELS.indexOf(level) < LEVELS.indexOf(this.#level)) return undefined
    const params = { level, ...(typeof logger === 'string' && { logger }), data: data ?? null }
    return { method: 'notifications/message', params }
  }

  #progress(report: unknown): Notice | undefined {
    if (this.#token === undefined) return undefined
    const { progress, total, message } = readProgress(report)
    const value = progress ?? this.#last + 1
    // The protocol requires that progress increases.
    if (value <= this.#last) return undefined
    this.#last = value
    const params = {
      progressToken: this.#token,
      progress: value,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    return { method: 'notifications/progress', params }
  }
}

export const isLevel = (value: unknown): value is LogLevel => LEVELS.includes(value as LogLevel)

function readProgress(report: unknown): { progress?: number; total?: number; message?: string } {
  if (isNumber(report)) return { progress: report }
  if (typeof report === 'string') return { message: report }
  const { progress, total, message } = Object(report) as Record<string, unknown>
  return {
    ...(isNumber(progress) && { progress }),
    ...(isNumber(total) && { total }),
    ...(typeof message === 'string' && { message }),
  }
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** The caller of a connection. Sessions update the context with every request. */
export interface Caller {
  context: CallContext
  /** Whether it is shown a search instead of all tools. */
  readonly discovers?: boolean
  /** The lowest level of log messages to send; undefined for none. */
  logLevel: LogLevel | undefined
}

export const callerOf = (context: CallContext, discovers = false): Caller => ({
  context,
  discovers,
  logLevel: undefined,
})

/** The value of `implementation.returns` for tools that return content blocks. */
const RETURNS_CONTENT = 'mcp_content'

/** Converts an envelope. Tools that declare it return content blocks; other results are data, apart from their media. */
export function callAnswer(result: ToolResult, tool: ToolDefinition | undefined): CallToolResult {
  if (!result.success) return { content: [text(result.error)], structuredContent: { ...result }, isError: true }
  const value = result.result
  if (tool?.implementation.returns === RETURNS_CONTENT && isCallToolResult(value)) return contentOf(value)
  const { value: shown, media } = splitMedia(value)
  const content = [text(typeof shown === 'string' ? shown : JSON.stringify(shown)), ...media.map(mediaBlock)]
  return isObject(value) && media.length === 0 ? { content, structuredContent: value } : { content }
}

function mediaBlock({ type, media_type: mimeType, name, data, url }: MediaPart, index: number): ContentBlock {
  const title = name?.toWellFormed() ?? `${type}-${index + 1}`
  if (data === undefined) return { type: 'resource_link', uri: url, name: title, mimeType }
  if (type !== 'file') return { type, data, mimeType }
  return { type: 'resource', resource: { uri: `result:${encodeURIComponent(title)}`, mimeType, blob: data } }
}

const contentOf = ({ content, structuredContent, isError, _meta }: CallToolResult): CallToolResult => ({
  content,
  ...(structuredContent !== undefined && { structuredContent }),
  ...(isError !== undefined && { isError }),
  ...(_meta !== undefined && { _meta }),
})

const text = (words: string) => ({ type: 'text', text: words }) as const

export interface ToolServerOptions {
  readonly registry: ToolRegistry
  readonly executor: Pick<ToolExecutor, 'execute' | 'access' | 'count'>
  readonly version: string
  readonly log?: Log
  readonly clock?: Clock
  /** The effect of a tool whose definition has none. */
  readonly effectOf?: (tool: ToolDefinition) => Effect | undefined
  readonly library?: Library
  /** Serves only this part. Default: everything. */
  readonly part?: ServedPart | undefined
  /** Without it, calls that need approval are only refused. */
  readonly approvals?: CallApprovals
  /** Without it, `?discovery=true` is refused. */
  readonly discovery?: ToolDirectory
  /** Gets every connection before it is used, to add request handlers. */
  readonly extend?: (connection: McpServer, caller: Caller) => void
}

interface AskedCall {
  readonly name: string
  readonly args: unknown
  readonly caller: Caller
  /** Default: the one in `meta`. */
  readonly approvalId?: string | undefined
  readonly signal: CancelSignal
  readonly progressToken?: ProgressToken | undefined
  readonly logLevel?: LogLevel | undefined
  /** The `_meta` of the request, which may contain a trace. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly notify: (notice: Notice) => void
  /** The client, if it can be asked. */
  readonly client?: AskableClient | undefined
}

/** The answer of a call, and the id of the approval that it waits for. */
interface Answer {
  readonly result: CallToolResult
  readonly approval?: string
  /** Where the user connects the account that it needs. */
  readonly connectUrl?: string
}

/** Lets clients that can ask a person lead to the approval of a call. */
export interface CallApprovals {
  /** The path of approvals in the web UI, which the id follows. */
  readonly path: string
  /** Of the server for people; undefined: the one that the client uses. */
  readonly origin?: string | undefined
  /** Whether this caller may decide about its own call of a tool. */
  mayDecide(tool: string, context: CallContext): boolean
  /** Decides about its own call. */
  decide(id: string, decision: 'approve' | 'reject', context: CallContext): Promise<void>
}

type Changed = 'tools' | 'resources' | 'prompts'

/** Names an approval in the `_meta` of a call. Clients that don't send it repeat the call. */
const APPROVAL_ID = 'toolyard/approval_id'

/** The version of a tool in the `_meta` of lists, and what a call says besides its result in that of answers. */
const VERSION = 'toolyard/version'
const WARNINGS = 'toolyard/warnings'

/** Changes within this time are reported once. */
const SETTLE_MS = 100

/** Serves the tools of a registry over MCP. Shared by the HTTP and stdio servers. */
export class ToolServer {
  readonly info: { readonly name: string; readonly version: string }
  readonly pages: ToolPages
  readonly library: LibraryHost | undefined
  readonly questions: OpenQuestions
  readonly approvals: CallApprovals | undefined
  readonly discovery: ToolDirectory | undefined
  readonly log: Log
  readonly clock: Clock
  readonly extend: ToolServerOptions['extend']
  readonly #registry: ToolRegistry
  readonly #executor: ToolServerOptions['executor']
  readonly #part: ServedPart | undefined
  #visible: { readonly version: number; readonly names: ReadonlySet<string> } | undefined
  readonly #listeners = new Set<(what: Changed) => void>()
  readonly #changed = new Set<Changed>()
  readonly #stops: (() => void)[]
  #cancelReport: (() => void) | undefined = undefined

  constructor(options: ToolServerOptions) {
    const { registry, executor, version, effectOf, part } = options
    const library = options.library && part ? libraryOf(options.library, part) : options.library
    this.info = { name: 'toolyard', version }
    this.#registry = registry
    this.#part = part
    this.approvals = options.approvals
    this.discovery = options.discovery
    this.log = options.log ?? silentLog
    this.clock = options.clock ?? systemClock
    this.questions = new OpenQuestions(this.clock)
    const { log } = this
    this.library = library && {
      ...{ library, log },
      access: (...read) => executor.access(...read),
      count: (context) => executor.count(context),
    }
    this.extend = options.extend
    this.#executor = executor
    this.pages = new ToolPages(registry, (tool) => tool.effect ?? effectOf?.(tool))
    this.#stops = [registry.onChange(() => this.#change('tools'))]
    const stop = library?.onChange?.((what) => this.#change(what))
    if (stop !== undefined) this.#stops.push(stop)
  }

  /** A page of the tools that a caller is shown. */
  list({ context, discovers }: Caller, cursor?: string): ToolPage {
    const { discovery } = this
    const isWhole = !discovers || discovery === undefined
    return isWhole ? this.pages.page(context, cursor) : { tools: directoryList(discovery, this.pages, context) }
  }

  /** Runs a call. Only an unknown tool is a protocol error, as MCP requires. */
  async call(asked: AskedCall): Promise<Answer> {
    const { name, args, caller, signal, progressToken, logLevel, meta, notify, client } = asked
    const named = meta?.[APPROVAL_ID]
    const approvalId = asked.approvalId ?? (typeof named === 'string' ? named : undefined)
    const listens = progressToken !== undefined || logLevel !== undefined
    const result = await this.#executor.execute(name, args ?? {}, {
      ...caller.context,
      source: 'mcp',
      signal,
      ...(typeof meta?.traceparent === 'string' && { traceparent: meta.traceparent }),
      ...(approvalId !== undefined && { approvalId }),
      ...(client !== undefined && { client }),
      ...(listens && { report: teller(new ReportReader(progressToken, logLevel), notify) }),
    })
    if (!result.success && result.error_code === 'TOOL_NOT_FOUND') {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, result.error, result)
    }
    const approval = result.success ? undefined : result.details?.approval?.id
    const connectUrl = result.success ? undefined : result.details?.connect_url
    const definition = this.definition(name, caller.context)
    const answer = callAnswer(result, definition)
    const said = result.warnings && { ...answer, _meta: { ...answer._meta, [WARNINGS]: result.warnings } }
    const waits = { ...(approval !== undefined && { approval }), ...(connectUrl !== undefined && { connectUrl }) }
    return { ...waits, result: said ?? answer }
  }

  /** The caller as this part knows it: with the tools of the part. */
  contextOf(context: CallContext): CallContext {
    const part = this.#part
    if (part === undefined) return context
    const { version } = this.#registry
    if (this.#visible?.version !== version) {
      const names = this.#registry.definitions().map(({ name }) => name)
      this.#visible = { version, names: new Set(names.filter((name) => matchesGlobs(part.tools, name))) }
    }
    const { names } = this.#visible
    return { ...context, visible: context.visible === undefined ? names : names.intersection(context.visible) }
  }

  definition(name: string, caller?: CallContext): ToolDefinition | undefined {
    const tool = this.#registry.find(name, caller)
    return tool && this.#registry.definitionOf(tool)
  }

  /** Calls the listener when a list changed; returns a function that removes it. */
  onChange(listener: (what: Changed) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops listening to the registry. The HTTP and stdio servers are closed separately. */
  close(): void {
    for (const stop of this.#stops) stop()
    this.#cancelReport?.()
    this.#listeners.clear()
    this.questions.close()
  }

  #change(what: Changed): void {
    if (this.#listeners.size === 0) return
    this.#changed.add(what)
    this.#cancelReport ??= this.clock.after(SETTLE_MS, () => {
      this.#cancelReport = undefined
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
        writeLog(this.log, 'warn', { err: error, changed: what }, 'A change notification could not be sent')
      }
    }
  }
}

const teller = (reader: ReportReader, notify: AskedCall['notify']) => (report: unknown) => {
  const notice = reader.read(report)
  if (notice !== undefined) notify(notice)
}

/** The protocol's annotations for each effect. */
const HINTS: Readonly<Record<Effect, Tool['annotations']>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  idempotent: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  write: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
}

const ANYTHING = { type: 'object' } as const

function listedTool(definition: ToolDefinition, effect: Effect | undefined): Tool {
  const { name, description, parameters, version } = definition
  return {
    name,
    description,
    ...(version !== undefined && { _meta: { [VERSION]: version } }),
    inputSchema: isPlain(parameters) ? (parameters as Tool['inputSchema']) : ANYTHING,
    ...(effect !== undefined && { annotations: HINTS[effect] }),
  }
}

/** Clients reject a whole list for one schema of another form. The executor uses the original schema. */
function isPlain({ $schema, properties, required }: JsonSchema): boolean {
  const isText = (value: unknown): boolean => typeof value === 'string'
  return (
    ($schema === undefined || isText($schema)) &&
    (properties === undefined || isObject(properties)) &&
    (required === undefined || (Array.isArray(required) && required.every(isText)))
  )
}

interface ToolPage {
  readonly tools: readonly Tool[]
  readonly nextCursor?: string
}

export const PAGE_SIZE = 100
const MAX_LISTS = 100

/** The tools that a caller may see, sorted by name. */
interface ToolList {
  readonly names: readonly string[]
  readonly tools: readonly Tool[]
}

/**
 * The lists of tools, one per set of rights. A cursor is the last name of its page and names are sorted, so a list that
 * changes between two pages neither repeats nor skips a tool.
 */
export class ToolPages {
  readonly #registry: ToolRegistry
  readonly #effectOf: (tool: ToolDefinition) => Effect | undefined
  readonly #lists = new LRUCache<string, ToolList>({ max: MAX_LISTS })
  readonly #listed = new WeakMap<ToolDefinition, Tool>()
  #version = -1

  constructor(registry: ToolRegistry, effectOf: (tool: ToolDefinition) => Effect | undefined) {
    this.#registry = registry
    this.#effectOf = effectOf
  }

  /** Throws a protocol error if the cursor is invalid. */
  page(context: CallContext, cursor?: string): ToolPage {
    const list = this.#list(context)
    return pageOf(list, cursor === undefined ? 0 : firstAfter(list.names, readCursor(cursor)))
  }

  /** The tools whose names match. */
  matching(context: CallContext, patterns: readonly string[]): Tool[] {
    return this.#list(context).tools.filter(({ name }) => matchesGlobs(patterns, name))
  }

  /** Whether clients must repeat some parameters in headers. */
  usesHeaders(definition: ToolDefinition): boolean {
    return JSON.stringify(this.listed(definition)).includes('"x-mcp-header"')
  }

  #list(context: CallContext): ToolList {
    if (this.#version !== this.#registry.version) {
      this.#lists.clear()
      this.#version = this.#registry.version
    }
    const key = keyOf(context)
    // Callers with the same rights may get other versions.
    const known = this.#registry.isRollingOut ? undefined : this.#lists.get(key)
    if (known !== undefined) return known
    const { visible } = context
    const permitted = this.#registry
      .offered(context)
      .filter((tool) => visible?.has(tool.name) !== false && missingPermission(tool, context) === undefined)
      .filter((tool) => this.#registry.brokenReason(tool) === undefined)
      .map((tool) => this.#registry.shownTo(tool, context))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const list: ToolList = {
      names: permitted.map((tool) => tool.name),
      tools: permitted.map((tool) => this.listed(tool)),
    }
    this.#lists.set(key, list)
    return list
  }

  /** A tool as the protocol lists it. */
  listed(definition: ToolDefinition): Tool {
    const known = this.#listed.get(definition)
    if (known !== undefined) return known
    const listed = listedTool(definition, this.#effectOf(definition))
    this.#listed.set(definition, listed)
    return listed
  }
}

/** Equal for callers with the same rights. */
const keyOf = ({ flags, tools, visible }: CallContext): string =>
  JSON.stringify([flags && Object.entries(flags).sort(), tools, visible && [...visible].sort()])

function pageOf({ names, tools }: ToolList, start: number): ToolPage {
  const end = start + PAGE_SIZE
  const next = end < names.length ? writeCursor(names[end - 1] as string) : undefined
  return { tools: tools.slice(start, end), ...(next !== undefined && { nextCursor: next }) }
}

const firstAfter = (names: readonly string[], name: string): number => {
  const index = names.findIndex((one) => one > name)
  return index === -1 ? names.length : index
}
