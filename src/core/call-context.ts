import type { CancelSignal } from './cancellation.ts'
import type { OnceStore } from './once-store.ts'
import type { Progress } from './progress.ts'
import type { CallerRate, RateState } from './rates.ts'

/** What a run may still spend. Runs of agents spend from that of their caller. */
export interface Allowance {
  /** Tokens, and USD; infinite without a limit. */
  left(): Spending
  /** Sets aside what a request may cost, or gives it back. */
  hold(amount: Spending, sign: 1 | -1): void
  charge(amount: Spending): void
}

export interface Spending {
  readonly tokens: number
  readonly cost: number
}

/** The client of a caller, which a tool may ask during a call, in the terms of MCP. */
export interface AskableClient {
  /** Equal for calls of one client only. */
  readonly id: string
  /** The caller that the client belongs to, which may have several. */
  readonly caller?: string | undefined
  readonly capabilities: Readonly<Record<string, unknown>>
  /** The lowest level of log messages that it wants; undefined for none. */
  readonly logLevel?: string | undefined
  /** Resolves with the response. Rejects if the client can't be asked or doesn't answer. */
  ask(request: {
    readonly method: string
    readonly params: Readonly<Record<string, unknown>>
    /** Aborts if the answer isn't needed any more. */
    readonly signal?: AbortSignal | undefined
  }): Promise<unknown>
}

/** The call of a tool that calls another one. */
export interface ParentCall {
  /** Empty for a call of another server. */
  readonly id: string
  /** The child must end by then. */
  readonly deadline: number
  /** The tools from the outermost call to this one. */
  readonly path: readonly string[]
  /** The agents above, outermost first, each as `installation/tool`: also those of other servers. */
  readonly agents?: readonly string[] | undefined
  /** What the parent has done, and the step that this call is. */
  readonly progress?: Progress | undefined
  readonly step?: string | undefined
  /** The call of an outer run that waits if a call of this run waits. */
  readonly waiting?: { readonly runId: string; readonly callId: string } | undefined
}

/** The caller of a tool and its rights. Everything is optional: the default is the local caller. */
export interface CallContext {
  readonly tenant?: string | undefined
  /** The id of the caller. Without it and without `user`, calls of tools in code share nothing with other calls. */
  readonly caller?: string | undefined
  /** Set by faces that have only one caller, such as a command line: it needs no id. */
  readonly oneCaller?: boolean | undefined
  /** The id of the API key of the caller, if it has one. */
  readonly keyId?: string | undefined
  /** The signed-in user; absent: the caller itself. */
  readonly user?: string | undefined
  /** The session of the caller, if it has one. */
  readonly session?: string | undefined
  /** By tool: the version that calls of its name take. Set by the loop, so that a run calls what it was offered. */
  readonly versions?: ReadonlyMap<string, string> | undefined
  /** Permissions and tools of the tenant, by name. */
  readonly flags?: Readonly<Record<string, boolean>> | undefined
  /** Patterns of the tools that the caller's key may use; absent: all. */
  readonly tools?: readonly string[] | undefined
  /** Patterns of the configured models that the caller may use; absent: all models, also those not configured. */
  readonly models?: readonly string[] | undefined
  /** The tools that exist for this caller; absent: all. */
  readonly visible?: ReadonlySet<string> | undefined
  readonly signal?: CancelSignal | undefined
  /** Clamped to 1–60 s, except for jobs. */
  readonly timeoutMs?: number | undefined
  readonly source?: 'code' | 'cli' | 'rest' | 'mcp' | 'loop' | 'job' | undefined
  readonly runId?: string | undefined
  /** The turn and the position of a call in a run that can wait for approval. */
  readonly callId?: string | undefined
  /** The run has continued since its model made this call: it may have begun before. */
  readonly continued?: boolean | undefined
  /** The model that requested the call, as `provider:model`. */
  readonly model?: string | undefined
  /** The caller's rate limits, checked before those of the tool. */
  readonly rates?: readonly CallerRate[] | undefined
  /** Receives the state of the first of `rates`, and of the limit that refuses a call. */
  readonly onRate?: ((state: RateState, rate: CallerRate) => void) | undefined
  /** Whether runs, parameters and results are stored. If not, calls that would have to wait for approval are refused. Default: true. */
  readonly stores?: boolean | undefined
  /** A repeated call with the same key returns the stored result of the first one. */
  readonly idempotencyKey?: string | undefined
  /** Stores the key of a write instead of the executor's store. Set by durable runs. */
  readonly once?: OnceStore | undefined
  /** The id of an approval of this call, from `details.approval` of the call that asked for it. */
  readonly approvalId?: string | undefined
  /** Calls of `write` tools need approval, even if their definition does not say so. Set by the loop. */
  readonly asksWrites?: boolean | undefined
  /** The caller can't name an approval: if it repeats the call, the approval that it asked for counts. */
  readonly repeats?: boolean | undefined
  readonly traceparent?: string | undefined
  readonly report?: ((progress: unknown) => void) | undefined
  /** Not passed on to calls that a tool makes: their deadline would go on. */
  readonly client?: AskableClient | undefined
  /** Passed to tools in code by reference. Never recorded. */
  readonly app?: unknown
  /** What the run of the caller may still spend. Set by the loop. */
  readonly allowance?: Allowance | undefined
  /** The call that made this one. Set by the executor. */
  readonly parent?: ParentCall | undefined
}

/** The user of a call: whom it acts for, otherwise the caller. */
export type AccountUser = Pick<CallContext, 'tenant' | 'caller' | 'user'>

/** The accounts that users have connected at providers. */
export interface UserAccounts {
  /** Why tools at this address can't use accounts of a provider. */
  problem(provider: string, url: URL | null): string | undefined
  /** Rejects with CONNECTION_REQUIRED if the user has to connect an account first. */
  require(provider: string, user: AccountUser, tool: string): Promise<void>
  /** An access token. `refused` is one that the service no longer accepts. Rejects like `require`. */
  token(provider: string, user: AccountUser, tool: string, refused?: string): Promise<string>
}

/** Why calls can't use accounts without a server. */
export const NO_ACCOUNTS = 'It uses accounts of users, which need an installation: run it with "toolyard serve"'
