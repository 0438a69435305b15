import type { RunAnswer, RunEvent, RunRequest } from '../chat/run.ts'
import type { ToolLoop } from '../chat/tool-loop.ts'
import type { CallContext } from '../core/call-context.ts'
import type { Clock } from '../core/clock.ts'
import { loadCompiler } from '../core/execution/bound-tool.ts'
import { ToolExecutor } from '../core/execution/tool-executor.ts'
import { ToolRegistry } from '../core/execution/tool-registry.ts'
import { isText, type LangchainTool, type RegisteredTool } from '../core/execution/tool-view.ts'
import type { Isolate } from '../core/handler.ts'
import type { Log } from '../core/log.ts'
import type { RecordSink } from '../core/recorder.ts'
import { suggest } from '../core/suggest.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { AiSdkLanguageModel } from '../models/ai-sdk/ai-sdk-model.ts'
import type { LangchainChatModel } from '../models/langchain/langchain-model.ts'
import type { Message, Model } from '../models/model.ts'
import { asLog, type GivenLog } from './log.ts'
import type { AnyTool } from './tool.ts'

/** A tool in code, a LangChain tool or a definition. */
export type GivenTool = AnyTool | LangchainTool | ToolDefinition

/** A model of Toolyard, the AI SDK or LangChain. */
export type GivenModel = Model | AiSdkLanguageModel | LangchainChatModel

export interface ToolyardOptions<Tools extends readonly GivenTool[], Configured> {
  readonly tools?: Tools
  /** A configuration, or the name of its file. Its tools, models and MCP servers join those in code. Only in `toolyard`. */
  readonly config?: Configured
  /** Models by the name that `run` may use. */
  readonly models?: Readonly<Record<string, GivenModel>>
  /** Nothing is logged by default. */
  readonly log?: GivenLog
  /** Receive the records of calls. */
  readonly sinks?: readonly RecordSink[]
  readonly clock?: Clock
}

/** Who calls, and how. */
export interface CallerOptions {
  readonly tenant?: string
  readonly user?: string
  /** Permissions and tools by name. A tool with `permissions` needs each to be `true`. */
  readonly flags?: Readonly<Record<string, boolean>>
  readonly signal?: AbortSignal
}

export interface CallOptions extends CallerOptions {
  /** A repeated call with the same key gets the answer of the first. */
  readonly idempotencyKey?: string
  /** Clamped to 1–60 s. */
  readonly timeoutMs?: number
  readonly report?: (progress: unknown) => void
}

export interface RunOptions<Name extends string = string> extends CallerOptions {
  /** A model, its name in `models`, or its id as `provider:model`. */
  readonly model: GivenModel | string
  /** The conversation, or `prompt`: one message of the user. */
  readonly messages?: readonly Message[]
  readonly prompt?: string
  readonly system?: string
  /** The tools that the model may use; all by default. */
  readonly tools?: readonly Name[]
  readonly maxIterations?: number
  readonly maxTokens?: number
  readonly temperature?: number
  readonly budget?: { readonly wallTimeMs?: number; readonly tokens?: number; readonly cost?: number }
}

/** The options, with `app` if the tools need one. */
export type WithApp<Options, App> = Options & (undefined extends App ? { readonly app?: App } : { readonly app: App })
export type Rest<Options, App> = undefined extends App
  ? [options?: WithApp<Options, App>]
  : [options: WithApp<Options, App>]

type UnionToIntersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never

type AppOfTool<One> = One extends AnyTool<infer App> ? (unknown extends App ? never : App) : never

/** What `app` must be for all of these tools; unknown if none of them uses it. */
export type AppOf<Tools extends readonly GivenTool[]> = [AppOfTool<Tools[number]>] extends [never]
  ? unknown
  : UnionToIntersection<AppOfTool<Tools[number]>>

type Known<Tools extends readonly GivenTool[]> = Extract<Tools[number], AnyTool>

/** The names that may be called: of the tools in code, or any if there are others. */
export type NameOf<Tools extends readonly GivenTool[], Open extends boolean> =
  | Known<Tools>['name']
  | (Open extends true ? string & {} : Exclude<Tools[number], AnyTool> extends never ? never : string & {})

type Named<Tools extends readonly GivenTool[], Name> = Extract<Known<Tools>, { readonly name: Name }>

export type InputFor<Tools extends readonly GivenTool[], Name> = [Named<Tools, Name>] extends [never]
  ? unknown
  : NonNullable<Named<Tools, Name>['~types']>['input']

export type ResultFor<Tools extends readonly GivenTool[], Name> = [Named<Tools, Name>] extends [never]
  ? unknown
  : NonNullable<Named<Tools, Name>['~types']>['result']

interface ToolyardParts {
  readonly registry: ToolRegistry
  readonly executor: ToolExecutor
  readonly models: Readonly<Record<string, GivenModel>>
  loop(): Promise<ToolLoop>
  /** A model of the configuration. */
  configured(id: string): Promise<Pick<RunRequest, 'model' | 'prices'>>
  close(): Promise<void>
}

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

  /** Calls a tool. Never rejects: every outcome is an envelope. */
  call<Name extends NameOf<Tools, Open>>(
    name: Name,
    input: InputFor<Tools, Name>,
    ...[options]: Rest<CallOptions, App>
  ): Promise<ToolResult<ResultFor<Tools, Name>>> {
    const envelope = this.#parts.executor.execute(name, input, callContext(options))
    return envelope as Promise<ToolResult<ResultFor<Tools, Name>>>
  }

  /** Runs a conversation with a model and its tools, to the answer. */
  run(options: WithApp<RunOptions<NameOf<Tools, Open>>, App>): Promise<RunAnswer> {
    return this.stream(options).answer
  }

  /** The same as `run`, as a stream of events. */
  stream(options: WithApp<RunOptions<NameOf<Tools, Open>>, App>): RunStream {
    return new RunStream(this.#run(options))
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

  async *#run(options: RunOptions): AsyncGenerator<RunEvent, void, undefined> {
    const { signal: closing } = this.#closing
    if (closing.aborted) throw new Error('Toolyard is closed: create another instance')
    const { model: given, messages, prompt, system, tools, maxIterations, maxTokens, temperature, budget } = options
    const { signal } = options
    if ((messages === undefined) === (prompt === undefined)) throw new TypeError('Pass either messages or prompt')
    const { loop, configured, models, registry } = this.#parts
    const unknown = tools?.find((name) => registry.find(name) === undefined)
    if (unknown !== undefined) throw new TypeError(`There is no tool '${unknown}': correct the tools of the run`)
    const named = typeof given === 'string' && Object.hasOwn(models, given) ? (models[given] as GivenModel) : given
    if (typeof named === 'string' && !named.includes(':')) {
      const known = Object.keys(models).length === 0 ? '' : `one of models (${Object.keys(models).join(', ')}), or `
      throw new TypeError(`There is no model '${named}': pass ${known}an id such as openai:gpt-5`)
    }
    const { model, prices } = typeof named === 'string' ? await configured(named) : { model: await asModel(named) }
    yield* (await loop()).run({
      model,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
        ...(messages ?? [{ role: 'user', content: prompt as string } as const]),
      ],
      ...(prices !== undefined && { prices }),
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
      context: { ...callContext(options), signal: AbortSignal.any([closing, ...(signal ? [signal] : [])]) },
    })
  }
}

/** The events of a run. Leaving the loop over them early cancels the run. */
export class RunStream implements AsyncIterable<RunEvent> {
  readonly #events: AsyncGenerator<RunEvent, void, undefined>
  readonly #answer = Promise.withResolvers<RunAnswer>()
  #isRead = false

  constructor(events: AsyncGenerator<RunEvent, void, undefined>) {
    this.#events = events
    // A caller that reads only the events must not get an unhandled rejection.
    this.#answer.promise.catch(() => {})
  }

  /** The answer. Reads the events if nobody else does. */
  get answer(): Promise<RunAnswer> {
    if (!this.#isRead) void this.#drain()
    return this.#answer.promise
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, undefined> {
    if (this.#isRead) throw new TypeError('The events of a run can be read only once')
    this.#isRead = true
    try {
      for await (const event of this.#events) {
        if (event.type === 'answer') this.#answer.resolve(event.answer)
        yield event
      }
    } catch (error) {
      this.#answer.reject(error)
      throw error
    } finally {
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
    const { tools = [], config, models = {} } = options
    // Now, so that no call has to wait for it.
    await loadCompiler()
    const parts = { log: asLog(options.log), ...pick(options, 'sinks', 'clock') }
    const opened =
      config === undefined ? await openLight(tools, parts, openConfigured) : await openConfigured(config, parts)
    try {
      opened.registry.addAll(tools as readonly RegisteredTool[])
    } catch (error) {
      await opened.close()
      throw error
    }
    return new Toolyard({ ...opened, models })
  }
}

const OPTIONS: Readonly<Record<keyof ToolyardOptions<[], undefined>, true>> = {
  tools: true,
  config: true,
  models: true,
  log: true,
  sinks: true,
  clock: true,
}

/** For programs that no compiler checks. */
function checkOptions(options: ToolyardOptions<readonly GivenTool[], unknown>): void {
  const isObject = typeof options === 'object' && options !== null
  if (!isObject) throw new TypeError('createToolyard() takes an object: createToolyard({ tools: [forecast] })')
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key))
  if (unknown !== undefined) {
    const [near] = suggest(unknown, Object.keys(OPTIONS))
    const fix = near === undefined ? `Known options are ${Object.keys(OPTIONS).join(', ')}` : `Did you mean "${near}"?`
    throw new TypeError(`createToolyard: unknown option "${unknown}". ${fix}`)
  }
  const { tools = [], sinks = [] } = options
  if (!Array.isArray(tools)) throw new TypeError('createToolyard: tools must be an array, such as [forecast]')
  const at = tools.findIndex((tool) => !isText(Object(tool).name ?? Object(tool).lc_name))
  if (at !== -1) {
    const fix = 'make it with tool(), or convert tools of the AI SDK with fromAiSdk()'
    throw new TypeError(`createToolyard: tools[${at}] is not a tool: ${fix}`)
  }
  if (!Array.isArray(sinks) || sinks.some((sink) => typeof Object(sink).write !== 'function')) {
    throw new TypeError('createToolyard: sinks must be an array of objects with write(batch)')
  }
}

/** Without configurations: those are in the package `toolyard`. */
export const createToolyard: CreateToolyard<never> = toolyardCreator<never>(async (config) => {
  const what = config === undefined ? 'A model id' : 'config'
  const instead = config === undefined ? '. Or pass a model of the AI SDK or LangChain' : ''
  const todo = "npm install toolyard, and import createToolyard from 'toolyard'"
  throw new TypeError(`${what} needs the package toolyard: ${todo}${instead}`)
})

export type Opened = Omit<ToolyardParts, 'models'>

export interface OpenParts extends Pick<ToolyardOptions<readonly GivenTool[], undefined>, 'sinks' | 'clock'> {
  readonly log: Log
}

async function openLight(
  tools: readonly GivenTool[],
  parts: OpenParts,
  openConfigured: OpenConfigured<never>,
): Promise<Opened> {
  const isCode = tools.every(({ implementation }) => implementation?.type === 'code')
  const { kinds, convertSchema } = isCode ? { kinds: {} } : await otherKinds()
  const registry = new ToolRegistry({ log: parts.log, ...(convertSchema && { convertSchema }) })
  const isolate = new LazyPool(parts.log)
  const executor = new ToolExecutor(registry, { ...parts, kinds, isolate })
  const providers = new Map<string, Promise<Opened>>()
  let loop: Promise<ToolLoop> | undefined
  return {
    registry,
    executor,
    loop() {
      loop ??= import('../chat/tool-loop.ts').then(({ ToolLoop }) => new ToolLoop(registry, executor, parts))
      return loop
    },
    async configured(id) {
      const [provider = ''] = id.split(':')
      const opened = providers.get(provider) ?? openConfigured(undefined, parts, id)
      providers.set(provider, opened)
      return (await opened).configured(id)
    },
    async close() {
      const opened = await Promise.allSettled(providers.values())
      const closed = opened.map((one) => one.status === 'fulfilled' && one.value.close())
      await Promise.all([isolate.close(), ...closed])
    },
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

const CODE: CallContext = Object.freeze({ source: 'code' })

/** The context of a call with these options. */
export function callContext(options: (CallOptions & { readonly app?: unknown }) | undefined): CallContext {
  if (options === undefined) return CODE
  const { user: caller, tenant, flags, signal, app, idempotencyKey, timeoutMs, report } = options
  return { ...CODE, tenant, caller, flags, signal, app, idempotencyKey, timeoutMs, report }
}

/** Only the given keys that have a value. */
function pick<Given extends object, Key extends keyof Given>(
  given: Given | undefined,
  ...keys: Key[]
): Pick<Given, Key> {
  const entries = keys.filter((key) => given?.[key] !== undefined).map((key) => [key, given?.[key]])
  return Object.fromEntries(entries) as Pick<Given, Key>
}
