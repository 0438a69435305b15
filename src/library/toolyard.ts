import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { DiscoverySettings } from '../chat/discovery.ts'
import type { RunAnswer, RunEvent, RunRequest } from '../chat/run.ts'
import type { ToolLoop } from '../chat/tool-loop.ts'
import type { CallContext } from '../core/call-context.ts'
import { loadCompiler } from '../core/execution/bound-tool.ts'
import { ToolExecutor } from '../core/execution/tool-executor.ts'
import { ToolRegistry } from '../core/execution/tool-registry.ts'
import type { LangchainTool, RegisteredTool } from '../core/execution/tool-view.ts'
import type { Isolate } from '../core/handler.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { AiSdkLanguageModel } from '../models/ai-sdk/ai-sdk-model.ts'
import type { LangchainChatModel } from '../models/langchain/langchain-model.ts'
import type { Model } from '../models/model.ts'
import { asLog } from './log.ts'
import {
  type AppOf,
  type CallOptions,
  callContext,
  checkDecision,
  checkOptions,
  type DecideOptions,
  discoverySettings,
  type GivenModel,
  type GivenTool,
  type InputFor,
  type NameOf,
  type OutputSchema,
  outputOf,
  type Rest,
  type ResultFor,
  type ResumeOptions,
  type RunOptions,
  type RunResult,
  type ToolyardOptions,
  type WithApp,
} from './options.ts'
import type { AnyTool } from './tool.ts'

type Used = Pick<RunRequest, 'model' | 'prices'>
type Events = AsyncGenerator<RunEvent, void, undefined>

/** Runs in a store. */
export interface StoredRuns {
  run(request: RunRequest, durable: boolean): Events
  resume(id: string, context: CallContext, modelOf: (id: string) => Promise<Used>): Promise<Events>
  decide(id: string, given: DecideOptions): Promise<void>
}

interface ToolyardParts {
  readonly registry: ToolRegistry
  readonly executor: ToolExecutor
  readonly models: Readonly<Record<string, GivenModel>>
  loop(): Promise<ToolLoop>
  /** A model by its id. */
  configured(id: string): Promise<Used>
  /** If there is a store. */
  readonly stored?: StoredRuns | undefined
  close(): Promise<void>
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Tools in code and in a configuration, and what runs them. Made by `createToolyard()`. */
export class Toolyard<
  const Tools extends readonly GivenTool[] = readonly GivenTool[],
  App = unknown,
  Open extends boolean = boolean,
> {
  readonly #parts: ToolyardParts
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined

  constructor(parts: ToolyardParts) {
    this.#parts = parts
  }

  /** The definitions of all tools. */
  get tools(): readonly ToolDefinition[] {
    return this.#parts.registry.definitions()
  }

  /** What runs the tools, for adapters. */
  get executor(): ToolExecutor {
    return this.#parts.executor
  }

  /** Calls a tool. Every outcome is an envelope. Rejects only if an option is wrong, with a TypeError or a RangeError. */
  call<Name extends NameOf<Tools, Open>>(
    name: Name,
    input: InputFor<Tools, Name>,
    ...[options]: Rest<CallOptions, App>
  ): Promise<ToolResult<ResultFor<Tools, Name>>> {
    let context: CallContext
    try {
      context = callContext('yard.call', options)
    } catch (wrong) {
      return Promise.reject(wrong)
    }
    return this.#parts.executor.execute(name, input, context) as Promise<ToolResult<ResultFor<Tools, Name>>>
  }

  /** Runs a conversation with a model and its tools, to the answer. */
  run<const Output extends OutputSchema = undefined>(
    options: WithApp<RunOptions<NameOf<Tools, Open>, Output>, App>,
  ): Promise<RunResult<Output>> {
    return new RunStream<RunResult<Output>>(this.#run('yard.run', options)).answer
  }

  /** The same as `run`, as a stream of events. */
  stream<const Output extends OutputSchema = undefined>(
    options: WithApp<RunOptions<NameOf<Tools, Open>, Output>, App>,
  ): RunStream<RunResult<Output>> {
    return new RunStream(this.#run('yard.stream', options))
  }

  /**
   * Continues a run that has waited for approval, or whose process has died. A run that still waits gives the answer that it
   * gave before, one that has ended its last.
   */
  async resume(runId: string, ...[options]: Rest<ResumeOptions, App>): Promise<RunAnswer> {
    const caller = callContext('yard.resume', options)
    const { model } = options ?? {}
    const context = { ...caller, signal: this.#signal(options?.signal), runId }
    const events = await this.#stored('resume').resume(runId, context, (id) => this.#modelOf(model ?? id))
    return new RunStream(events).answer
  }

  /** Approves or rejects a call. Rejects if it is decided or has expired, or if the call could not run any more. */
  async decide(approvalId: string, options: DecideOptions): Promise<void> {
    checkDecision(options)
    await this.#stored('decide').decide(approvalId, options)
  }

  /** Cancels running calls and runs, closes what was opened, and hands over the last records. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { executor, close } = this.#parts
    this.#closing.abort()
    executor.close()
    // Cancelled calls are recorded in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    executor.flush()
    await close()
  }

  /** Aborts with the caller's signal, and when the instance is closed. */
  #signal(signal: AbortSignal | undefined): AbortSignal {
    const { signal: closing } = this.#closing
    if (closing.aborted) throw new Error('Toolyard is closed: create another instance')
    return AbortSignal.any([closing, ...(signal ? [signal] : [])])
  }

  #stored(what: string): StoredRuns {
    const { stored } = this.#parts
    if (stored !== undefined) return stored
    throw new TypeError(`${what} needs a store: pass storage to createToolyard, such as storage: '.toolyard'`)
  }

  async #modelOf(given: GivenModel | string): Promise<Used> {
    const { configured, models } = this.#parts
    if (typeof given !== 'string') return { model: await asModel(given) }
    if (Object.hasOwn(models, given)) return { model: await asModel(models[given] as GivenModel) }
    const all = await Promise.all(Object.values(models).map(asModel))
    const model = all.find(({ id }) => id === given)
    if (model !== undefined) return { model }
    if (given.includes(':')) return configured(given)
    const known = all.length === 0 ? '' : `one of models (${Object.keys(models).join(', ')}), or `
    throw new TypeError(`There is no model '${given}': pass ${known}an id such as openai:gpt-5`)
  }

  async *#run(method: 'yard.run' | 'yard.stream', options: RunOptions): Events {
    const caller = callContext(method, options ?? null)
    const { model: given, messages, prompt, system, tools, maxIterations, maxTokens, temperature, budget } = options
    const context = { ...caller, signal: this.#signal(options.signal) }
    const output = options.output === undefined ? undefined : outputOf(method, options.output)
    if ((messages === undefined) === (prompt === undefined)) throw new TypeError('Pass either messages or prompt')
    const { loop, registry, stored } = this.#parts
    if (options.durable) this.#stored('durable')
    const { runId = randomUUID() } = options
    if (!UUID.test(runId)) throw new TypeError(`runId must be a UUID, such as crypto.randomUUID(), not "${runId}"`)
    if (options.runId !== undefined && !options.durable) throw new TypeError('runId needs durable: true')
    const unknown = tools?.find((name) => registry.find(name) === undefined)
    if (unknown !== undefined) throw new TypeError(`There is no tool '${unknown}': correct the tools of the run`)
    // With the loop, so that programs that only call tools don't load it.
    const [{ checkMessages }, { requireCheckable }] = await Promise.all([
      import('../chat/check-request.ts'),
      import('../chat/run-output.ts'),
    ])
    if (messages !== undefined) checkMessages(method, messages)
    if (output !== undefined) await requireCheckable(output, `${method}: output`)
    const { model, prices } = await this.#modelOf(given)
    const request: RunRequest = {
      model,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
        ...(messages ?? [{ role: 'user', content: prompt as string } as const]),
      ],
      ...(prices !== undefined && { prices }),
      ...(output !== undefined && { output }),
      ...(tools !== undefined && { allowed_tools: tools }),
      ...(maxIterations !== undefined && { max_iterations: maxIterations }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(budget !== undefined && {
        budget: {
          ...pick(budget, 'tokens', 'cost'),
          ...(budget.wallTimeMs !== undefined && { wall_time_ms: budget.wallTimeMs }),
        },
      }),
      context: stored === undefined ? context : { ...context, runId },
    }
    yield* stored === undefined ? (await loop()).run(request) : stored.run(request, options.durable === true)
  }
}

/** The events of a run. Leaving the loop over them early cancels the run. */
export class RunStream<Answer = RunAnswer> implements AsyncIterable<RunEvent> {
  readonly #events: AsyncIterator<RunEvent>
  /** Tools run in the async context of the program that started the run, not of what reads its events. */
  readonly #within = AsyncLocalStorage.snapshot()
  readonly #answer = Promise.withResolvers<Answer>()
  #isRead = false

  constructor(events: Events) {
    this.#events = events[Symbol.asyncIterator]()
    // A caller that reads only the events must not get an unhandled rejection.
    this.#answer.promise.catch(() => {})
  }

  /** The answer. Reads the events if nobody else does. */
  get answer(): Promise<Answer> {
    if (!this.#isRead) void this.#drain()
    return this.#answer.promise
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, undefined> {
    if (this.#isRead) throw new TypeError('The events of a run can be read only once')
    this.#isRead = true
    try {
      for (;;) {
        const { done, value } = await this.#within(() => this.#events.next())
        if (done) break
        if (value.type === 'answer') this.#answer.resolve(value.answer as Answer)
        yield value
      }
    } catch (error) {
      this.#answer.reject(error)
      throw error
    } finally {
      await this.#within(() => this.#events.return?.())
      this.#answer.reject(new Error('The run was cancelled: its events were not read to the end'))
    }
  }

  async #drain(): Promise<void> {
    try {
      for await (const _ of this) {
        // Only the answer matters.
      }
    } catch {
      // The answer rejects with it.
    }
  }
}

/** `createToolyard` with the configurations that it takes. */
export interface CreateToolyard<Config> {
  /** Makes an instance: nothing has to be enabled or loaded first. */
  <const Tools extends readonly GivenTool[], Configured extends Config | undefined = undefined>(
    options: ToolyardOptions<Tools, Configured>,
  ): Promise<Toolyard<Tools, AppOf<Tools>, Configured extends undefined ? false : true>>
  /** With the type of `app`: `createToolyard<App, typeof tools>({ tools })` has the names of the tools too. */
  <App, const Tools extends readonly GivenTool[] = readonly GivenTool[]>(
    options: ToolyardOptions<readonly (AnyTool<App> | LangchainTool | ToolDefinition)[] & Tools, Config | undefined>,
  ): Promise<Toolyard<Tools, App, true>>
}

/** Opens what a configuration describes; without one, the provider of this model. */
export type OpenConfigured<Config> = (config: Config | undefined, parts: OpenParts, model?: string) => Promise<Opened>

/** Makes a `createToolyard`. The caller brings what reads configurations: it is too large for the library. */
export function toolyardCreator<Config>(openConfigured: OpenConfigured<Config>): CreateToolyard<Config> {
  return async (options: ToolyardOptions<readonly GivenTool[], Config | undefined>): Promise<Toolyard> => {
    checkOptions(options)
    const { tools = [], config, storage, models = {} } = options
    // Now, so that no call has to wait for it.
    await loadCompiler()
    const discovery = discoverySettings(options.discovery)
    const parts: OpenParts = {
      log: asLog(options.log),
      ...pick(options, 'sinks', 'clock', 'storage'),
      ...(discovery && { discovery }),
    }
    const needsMore = tools.some(
      (tool) =>
        !LIGHT.has(tool.implementation?.type ?? 'langchain') ||
        ('cost' in tool && tool.cost?.from_result !== undefined),
    )
    const isLight = config === undefined && storage === undefined && !needsMore
    const opened = isLight ? await openLight(tools, parts) : await openConfigured(config, parts)
    try {
      const invalid = opened.registry.addValid(tools as readonly RegisteredTool[])
      await opened.connected?.()
      report(
        [...(opened.mistakes?.() ?? []), ...invalid, ...brokenTools(opened, storage !== undefined)],
        options,
        parts.log,
      )
    } catch (error) {
      await opened.close()
      throw error
    }
    return new Toolyard({ ...opened, models, ...withProviders(opened, openConfigured, parts) })
  }
}

/** Why registered tools can't run. Tools of MCP servers are not the program's. */
function brokenTools({ registry, isComplete }: Opened, hasStore: boolean): string[] {
  const all = registry.definitions().flatMap(({ name }) => registry.versionsOf(name))
  return all.flatMap((tool) => {
    const { type } = tool.implementation
    if (tool.approval && !hasStore)
      return [`Tool '${tool.name}' needs approval, and approvals need a store: pass storage`]
    // A server that is away may have the tools that it calls.
    if (type === 'mcp' || (CALLS_OTHERS.has(type) && isComplete?.() === false)) return []
    const reason = registry.brokenReason(tool)
    return reason === undefined ? [] : [reason.startsWith('Tool ') ? reason : `Tool '${tool.name}': ${reason}`]
  })
}

const CALLS_OTHERS: ReadonlySet<string> = new Set(['pipeline', 'agent', 'code_mode'])

/** Throws one error for all mistakes, or logs them. */
function report(problems: readonly string[], { strict = true }: { readonly strict?: boolean }, log: Log): void {
  if (!strict) for (const problem of problems) writeLog(log, 'warn', { problem }, 'Ignored, because strict is false')
  else if (problems.length > 0) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    const list = problems.map((problem) => `\n- ${problem}`).join('')
    throw new TypeError(`createToolyard: ${count}. Correct them, or go on with strict: false${list}`)
  }
}

/** The kinds of tools that need no configuration. */
const LIGHT: ReadonlySet<string> = new Set(['code', 'langchain', 'mock', 'builtin', 'internal'])

/** Opens the providers of models that are not configured when a run names them. */
function withProviders<Config>(
  { configured, close }: Opened,
  openConfigured: OpenConfigured<Config>,
  { storage: _, ...parts }: OpenParts,
): Pick<ToolyardParts, 'configured' | 'close'> {
  const providers = new Map<string, Promise<Opened>>()
  return {
    async configured(id) {
      const known = await configured?.(id)
      if (known !== undefined) return known
      const [provider = ''] = id.split(':')
      const opened = providers.get(provider) ?? openConfigured(undefined, parts, id)
      providers.set(provider, opened)
      return (await (await opened).configured?.(id)) as Used
    },
    async close() {
      const opened = await Promise.allSettled(providers.values())
      await Promise.all([close(), ...opened.map((one) => one.status === 'fulfilled' && one.value.close())])
    },
  }
}

/** Without configurations: those are in the package `toolyard`. */
export const createToolyard: CreateToolyard<never> = toolyardCreator<never>(async (config, { storage }, model) => {
  const other = model === undefined ? 'A tool of this kind' : 'A model id'
  const what = config !== undefined ? 'config' : storage !== undefined ? 'storage' : other
  const instead = model === undefined ? '' : '. Or pass a model of the AI SDK or LangChain'
  const todo = "install it, and import createToolyard from 'toolyard'"
  throw new TypeError(`${what} needs the package toolyard: ${todo}${instead}`)
})

export interface Opened extends Omit<ToolyardParts, 'models' | 'configured'> {
  /** A model of the configuration; undefined if its provider isn't configured. */
  configured?(id: string): Promise<Used | undefined>
  /** What is wrong with the configuration, or has no effect. */
  mistakes?(): readonly string[]
  /** Whether the tools of all MCP servers are registered. */
  isComplete?(): boolean
  /** Resolves when each MCP server has connected, or failed to. */
  connected?(): Promise<void>
}

export interface OpenParts
  extends Pick<ToolyardOptions<readonly GivenTool[], undefined>, 'sinks' | 'clock' | 'storage'> {
  readonly log: Log
  readonly discovery?: DiscoverySettings
}

async function openLight(tools: readonly GivenTool[], parts: OpenParts): Promise<Opened> {
  const isCode = tools.every(({ implementation }) => implementation?.type === 'code')
  const { kinds, convertSchema } = isCode ? { kinds: {} } : await otherKinds()
  const registry = new ToolRegistry({ log: parts.log, ...(convertSchema && { convertSchema }) })
  const isolate = new LazyPool(parts.log)
  const executor = new ToolExecutor(registry, { ...pick(parts, 'log', 'sinks', 'clock'), kinds, isolate })
  let loop: Promise<ToolLoop> | undefined
  return {
    registry,
    executor,
    loop() {
      const options = pick(parts, 'log', 'clock', 'discovery')
      loop ??= import('../chat/tool-loop.ts').then(({ ToolLoop }) => new ToolLoop(registry, executor, options))
      return loop
    },
    close: () => isolate.close(),
  }
}

async function otherKinds() {
  const [{ kinds }, { ToolHandlers }, { convertZod }] = await Promise.all([
    import('../kinds/kinds.ts'),
    import('../kinds/tool-handlers.ts'),
    import('../models/langchain/offered-tools.ts'),
  ])
  return { kinds: kinds(new ToolHandlers()), convertSchema: convertZod }
}

/** Starts the process pool with the first call that needs it. */
class LazyPool implements Isolate {
  readonly #log: Log
  #pool: Promise<Isolate> | undefined

  constructor(log: Log) {
    this.#log = log
  }

  async run(...task: Parameters<Isolate['run']>): Promise<unknown> {
    this.#pool ??= import('../isolation/process-pool.ts').then(({ ProcessPool }) => new ProcessPool({ log: this.#log }))
    return (await this.#pool).run(...task)
  }

  async close(): Promise<void> {
    await (await this.#pool)?.close()
  }
}

async function asModel(given: GivenModel): Promise<Model> {
  const one = Object(given) as Partial<Model & AiSdkLanguageModel & LangchainChatModel>
  if (typeof one.specificationVersion === 'string') {
    const { aiSdkModel } = await import('../models/ai-sdk/ai-sdk-model.ts')
    return aiSdkModel(given as AiSdkLanguageModel)
  }
  if ('lc_namespace' in one || '_llmType' in one) {
    const { langchainModel } = await import('../models/langchain/langchain-model.ts')
    return langchainModel(given as LangchainChatModel)
  }
  if (typeof one.stream === 'function' && typeof one.id === 'string') return given as Model
  throw new TypeError('model must be a model of Toolyard, the AI SDK or LangChain, or the id of one')
}

/** Only the given keys that have a value. */
function pick<Given extends object, Key extends keyof Given>(
  given: Given | undefined,
  ...keys: Key[]
): Pick<Given, Key> {
  const entries = keys.filter((key) => given?.[key] !== undefined).map((key) => [key, given?.[key]])
  return Object.fromEntries(entries) as Pick<Given, Key>
}
