import type { DiscoverySettings } from '../chat/discovery.ts'
import type { RunAnswer } from '../chat/run.ts'
import type { CallContext } from '../core/call-context.ts'
import {
  ABOVE_ZERO,
  anything,
  boolean,
  type Checks,
  COUNT,
  callable,
  checkAll,
  checkedContext,
  clock,
  isRecord,
  isTextList,
  must,
  nested,
  nonEmpty,
  number,
  plainObject,
  sinkList,
  string,
  stringList,
} from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { isText, type LangchainTool } from '../core/execution/tool-view.ts'
import type { RecordSink } from '../core/records/recorder.ts'
import { type ReadSchema, readSchema } from '../core/schema/json-schema-of.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { AiSdkLanguageModel } from '../models/ai-sdk/ai-sdk-model.ts'
import type { LangchainChatModel } from '../models/langchain/langchain-model.ts'
import type { Message, Model } from '../models/model.ts'
import type { GivenLog } from './log.ts'
import type { AnyTool, ObjectSchema, ParsedOf, StandardSchema } from './tool.ts'

/** A tool in code, a LangChain tool or a definition. */
export type GivenTool = AnyTool | LangchainTool | ToolDefinition

/** A model of Toolyard, the AI SDK or LangChain. */
export type GivenModel = Model | AiSdkLanguageModel | LangchainChatModel

export interface ToolyardOptions<Tools extends readonly GivenTool[], Configured> {
  readonly tools?: Tools
  /** A configuration, or the name of its file. Its tools, models and MCP servers join those in code. Only in `toolyard`. */
  readonly config?: Configured
  /**
   * Where approvals and durable runs are stored: a folder, or the address of a PostgreSQL database. Without it, nothing is
   * stored. Only in `toolyard`.
   */
  readonly storage?: string
  /** Models by the name that `run` may use. */
  readonly models?: Readonly<Record<string, GivenModel>>
  /** Nothing is logged by default. */
  readonly log?: GivenLog
  /** Receive the records of calls. */
  readonly sinks?: readonly RecordSink[]
  readonly clock?: Clock
  /** What runs are offered of a long list of tools. Instead of `tools.discovery` of the configuration. */
  readonly discovery?: DiscoveryOptions
  /**
   * `false` logs mistakes in tools and configuration as warnings instead of rejecting: invalid tools are left out, and settings
   * that need a server or a store are ignored. Default: `true`.
   */
  readonly strict?: boolean
}

export interface DiscoveryOptions {
  /** `auto`: models search for tools only if these have more tokens than the budget. Default: `auto`. */
  readonly enabled?: 'auto' | boolean
  /** About how many tokens the tools of a request may have. Default: 8,000. */
  readonly maxToolTokens?: number
  /** Patterns of tools that are always offered, such as `orders_*`. */
  readonly always?: readonly string[]
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
  /** The approval of the call, from `details.approval` of its first answer. */
  readonly approvalId?: string
}

/** A schema of a validation library, or a JSON Schema of an object. */
export type OutputSchema = StandardSchema | ObjectSchema | undefined

/** The answer of a run with `output`. */
export type RunResult<Output> = Output extends undefined
  ? RunAnswer
  : Omit<RunAnswer, 'output'> & {
      /** What the model answered, validated. Not set if `stop_reason` isn't `stop`. */
      readonly output?: ParsedOf<Output>
    }

export interface RunOptions<Name extends string = string, Output extends OutputSchema = OutputSchema>
  extends CallerOptions {
  /** A model, its name in `models`, or its id as `provider:model`. */
  readonly model: GivenModel | string
  /** The conversation, or `prompt`: one message of the user. */
  readonly messages?: readonly Message[]
  readonly prompt?: string
  readonly system?: string
  /** The schema of the answer: the model answers with JSON, which is validated. It gets a second attempt if it fails. */
  readonly output?: Output
  /** The tools that the model may use; all by default. */
  readonly tools?: readonly Name[]
  readonly maxIterations?: number
  readonly maxTokens?: number
  readonly temperature?: number
  readonly budget?: { readonly wallTimeMs?: number; readonly tokens?: number; readonly cost?: number }
  /** Stores every step before the run goes on, so that `resume` continues it after a crash. Needs `storage`. */
  readonly durable?: boolean
  /** The id of a durable run, a new UUID: store it first, and `resume` finds the run after a crash. */
  readonly runId?: string
}

/** Who continues a run. The flags count as they are now. */
export interface ResumeOptions extends Omit<CallerOptions, 'user'> {
  /** By default the model of the run, from `models` or the configuration. */
  readonly model?: GivenModel | string
}

export interface DecideOptions {
  readonly decision: 'approve' | 'reject'
  /** Runs the call with these parameters instead. */
  readonly params?: unknown
  readonly reason?: string
  readonly tenant?: string
  /** The person who decides, for the audit log. It can't be the `user` of the call, unless the tool has `self: true`. */
  readonly by?: string
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

const abortSignal = must('an AbortSignal', (value) => typeof Object(value).addEventListener === 'function')
const booleans = must('an object whose values are true or false', (value) => {
  return isRecord(value) && Object.values(value).every((one) => one === undefined || typeof one === 'boolean')
})

const model = must('a model', (value) => typeof value === 'object' && value !== null)

const OPTIONS: Checks<ToolyardOptions<[], undefined>> = {
  tools: must('an array, such as [forecast]', Array.isArray),
  config: must('a configuration or the name of its file', (value) => typeof value === 'string' || isRecord(value)),
  storage: nonEmpty,
  models(method, name, value) {
    plainObject(method, name, value)
    for (const [key, one] of Object.entries(value as object)) model(method, `${name}.${key}`, one)
  },
  log: anything,
  sinks: sinkList,
  clock,
  discovery: anything,
  strict: boolean,
}

const RESUMER = { tenant: nonEmpty, flags: booleans, signal: abortSignal, app: anything } as const
const CALLER = { ...RESUMER, user: nonEmpty } as const
const ADAPTER = { ...CALLER, tools: stringList, runId: nonEmpty } as const

const CALL = {
  ...CALLER,
  ...{ idempotencyKey: nonEmpty, timeoutMs: number({}), report: callable, approvalId: nonEmpty },
} satisfies Checks<CallOptions>

const RUN = {
  ...CALLER,
  ...{ model: anything, messages: anything, prompt: string, system: string, output: anything, tools: stringList },
  ...{ maxIterations: number(COUNT), maxTokens: number(COUNT), temperature: number({ min: 0, max: 2 }) },
  budget: nested({ wallTimeMs: number(ABOVE_ZERO), tokens: number(COUNT), cost: number(ABOVE_ZERO) }),
  ...{ durable: boolean, runId: nonEmpty },
} satisfies Checks<RunOptions>

/** The options of each method. */
const KNOWN = {
  'yard.call': CALL,
  'yard.run': RUN,
  'yard.stream': RUN,
  'yard.resume': { ...RESUMER, model: anything } satisfies Checks<ResumeOptions>,
  toAiSdk: { ...ADAPTER, progress: boolean },
  toLangChain: ADAPTER,
  toOpenAiAgents: ADAPTER,
  serveMcp: { tenant: nonEmpty, user: nonEmpty, flags: booleans, app: anything, tools: stringList },
} as const

export type Adapter = 'toAiSdk' | 'toLangChain' | 'toOpenAiAgents' | 'serveMcp'

const DECISION: Checks<DecideOptions> = {
  decision: must('approve or reject', (value) => value === 'approve' || value === 'reject'),
  ...{ params: plainObject, reason: string, tenant: nonEmpty, by: nonEmpty },
}

export function checkDecision(options: DecideOptions): void {
  checkAll('yard.decide', options, DECISION)
  DECISION.decision('yard.decide', 'decision', options.decision)
}

const DISCOVERY: Checks<DiscoveryOptions> = {
  enabled: must('"auto", true or false', (value) => value === 'auto' || typeof value === 'boolean'),
  maxToolTokens: number(ABOVE_ZERO),
  always: must('an array of patterns, such as ["orders_*"]', isTextList),
}

/** The settings of the options, as the configuration has them. */
export function discoverySettings(options: DiscoveryOptions | undefined): DiscoverySettings | undefined {
  if (options === undefined) return undefined
  nested(DISCOVERY)('createToolyard', 'discovery', options)
  const { enabled, maxToolTokens, always } = options
  return {
    ...(enabled !== undefined && { enabled }),
    ...(maxToolTokens !== undefined && { max_tool_tokens: maxToolTokens }),
    ...(always !== undefined && { always }),
  }
}

/** For programs that no compiler checks. */
export function checkOptions(options: ToolyardOptions<readonly GivenTool[], unknown>): void {
  const isObject = typeof options === 'object' && options !== null
  if (!isObject) throw new TypeError('createToolyard() takes an object: createToolyard({ tools: [forecast] })')
  checkAll('createToolyard', options, OPTIONS)
  const { tools = [] } = options
  const at = tools.findIndex((tool) => !isText(Object(tool).name ?? Object(tool).lc_name))
  if (at !== -1) {
    const fix = 'make it with tool(), or convert tools of the AI SDK with fromAiSdk()'
    throw new TypeError(`createToolyard: tools[${at}] is not a tool: ${fix}`)
  }
}

/** Throws a TypeError if the schema of an answer can't be used. */
export function outputOf(method: string, schema: OutputSchema): ReadSchema {
  try {
    return readSchema(schema)
  } catch (error) {
    throw new TypeError((error as Error).message.replace('Tool parameters', `${method}: output`), { cause: error })
  }
}

/** The options are checked here. */
const CODE = Object.freeze(checkedContext({ source: 'code' }))

/** The context of a call with the options of this method. */
export function callContext(
  method: keyof typeof KNOWN,
  options: (CallOptions & { readonly app?: unknown }) | undefined,
): CallContext {
  if (options === undefined) return CODE
  checkAll(method, options, KNOWN[method])
  const { user: caller, tenant, flags, signal, app, idempotencyKey, timeoutMs, report, approvalId } = options
  return { ...CODE, tenant, caller, flags, signal, app, idempotencyKey, timeoutMs, report, approvalId }
}
