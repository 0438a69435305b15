import type { UserAccounts } from '../call-context.ts'
import type { Clock } from '../clock.ts'
import type { Budgets } from '../costs.ts'
import type { CallerRate, Rates } from '../rates.ts'
import type { Recorder } from '../records/recorder.ts'
import { waitInWords } from '../schema/problem-words.ts'
import type { Effect, ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import type { ApprovalParts } from './approvals.ts'
import type { Call } from './call.ts'
import type { Continuations, Definitions } from './continuations.ts'
import { callKey, type ResultCache } from './result-cache.ts'
import type { ToolExecutorOptions } from './runner.ts'
import type { CallHook, Known, Stages } from './stages.ts'
import type { ToolCost } from './tool-cost.ts'

/** What tools that call others have done, so that they continue after an approval. */
export function continuationHook(
  parts: ApprovalParts,
  clock: Clock,
  definitions: Definitions,
): CallHook<{ readonly callsOthers: boolean; readonly definition: ToolDefinition }> {
  let loaded: Continuations | undefined
  // Loaded when a tool that calls others is called.
  const load = async () => {
    loaded ??= new (await import('./continuations.ts')).Continuations(parts, clock, definitions)
    return loaded
  }
  return {
    stages: ({ callsOthers, definition }) =>
      callsOthers
        ? {
            progress: async (call) => {
              call.progress = await (await load()).progressOf(call, definition, call.params ?? {})
              return undefined
            },
          }
        : {},
    hold: (call, thrown) => call.progress && load().then(async (all) => ({ thrown: await all.hold(call, thrown) })),
  }
}

interface LimitedTool {
  readonly limits: { readonly rate: unknown }
  rateOf(tenant: string): CallerRate
}

/** Counts calls against the limits of their callers and tools. */
export class CallRates implements CallHook<LimitedTool> {
  readonly #rates: Rates
  readonly #clock: Clock

  constructor(rates: Rates, clock: Clock) {
    this.#rates = rates
    this.#clock = clock
  }

  readonly stages = (tool: LimitedTool): Stages => {
    const own = tool.limits.rate === undefined ? undefined : tool
    return {
      rates: (call) => {
        const isLimited = own !== undefined || call.context.rates !== undefined
        return isLimited && call.guard?.isCounted !== true ? this.take(call, own) : undefined
      },
    }
  }

  /** Throws `RATE_LIMITED`. Without a tool only the caller's limits apply. */
  async take(call: Call, tool?: LimitedTool): Promise<undefined> {
    const { context } = call
    const { rates: callers = [] } = context
    const all = tool === undefined ? callers : [...callers, tool.rateOf(call.tenant)]
    for (const [index, rate] of all.entries()) {
      const taken = this.#rates.take(rate.key, rate, this.#clock.now())
      const state = taken instanceof Promise ? await taken : taken
      const refused = state.waitMs > 0
      if (refused || (index === 0 && callers.length > 0)) context.onRate?.(state, rate)
      if (refused) {
        throw new ToolExecutionError('RATE_LIMITED', `${rate.description}: try again in ${waitInWords(state.waitMs)}`)
      }
    }
  }
}

/** Needs the account of the user, for tools that use one. */
export const accountHook = (
  accounts: UserAccounts | undefined,
): CallHook<{ readonly account: string | undefined }> => ({
  stages: ({ account }) =>
    account === undefined || accounts === undefined
      ? {}
      : {
          account: async (call) => {
            await accounts.require(account, call.context, call.tool)
            return undefined
          },
        },
})

interface CachedTool {
  readonly hash: string
  readonly effect: Effect
  readonly limits: { readonly cacheTtlMs: number | undefined }
  isPrivate(call: Call): boolean
}

/** Answers identical calls with one result. */
export class CachedResults implements CallHook<CachedTool> {
  readonly #cache: ResultCache

  constructor(cache: ResultCache) {
    this.#cache = cache
  }

  readonly stages = (tool: CachedTool): Stages => {
    const { cacheTtlMs: ttlMs } = tool.limits
    if (tool.effect !== 'read' || ttlMs === undefined) return {}
    const recall = (call: Call) => this.recall(call, tool)
    const cache = ({ key }: Call, result: unknown): undefined => {
      if (key !== undefined) this.#cache.set(key, result, ttlMs)
    }
    return { recall, cache }
  }

  /** The cached answer. */
  recall(call: Call, tool: CachedTool): Known | undefined {
    if (tool.effect !== 'read' || tool.limits.cacheTtlMs === undefined || tool.isPrivate(call)) return undefined
    call.key = callKey(tool.hash, call.scope, call.params ?? {})
    return this.#cache.get(call.key)
  }
}

interface CostedTool extends CachedTool {
  readonly cost: ToolCost | undefined
}

/** Counts what calls cost, and refuses those that no budget pays. */
export class CallCosts implements CallHook<CostedTool> {
  readonly #budgets: Budgets | undefined
  readonly #cached: CachedResults

  constructor(budgets: Budgets | undefined, cached: CachedResults) {
    this.#budgets = budgets
    this.#cached = cached
  }

  readonly stages = (tool: CostedTool): Stages => {
    const { cost } = tool
    return cost === undefined ? {} : { budget: (call) => this.#take(call, tool, cost) }
  }

  readonly cost = (call: Call, result: unknown): void => {
    call.cost = call.bound?.cost?.of(call, result)
  }

  /** Throws `RATE_LIMITED` if a budget is spent, unless the answer is cached. Tools that cost nothing may always run. */
  async #take(call: Call, tool: CostedTool, cost: ToolCost): Promise<Known | undefined> {
    const { tenant, keyId } = call
    const expected = cost.expected(call)
    if (expected === 0) return undefined
    try {
      const taken = await this.#budgets?.take({ tenant, keyId, tool: call.tool }, expected, cost.perCallOf(call))
      call.hold = taken?.hold
      for (const warning of taken?.warnings ?? []) call.warn(warning)
      return undefined
    } catch (refusal) {
      const known = call.guard === undefined ? this.#cached.recall(call, tool) : undefined
      if (known === undefined) throw refusal
      return known
    }
  }
}

/** Records every call, with what may be stored of it. */
export const recordHook = (
  recorder: Recorder,
  { tracer, payload }: Pick<ToolExecutorOptions, 'tracer' | 'payload'>,
): CallHook<unknown> => ({
  ...(tracer && { span: (call: Call, result: unknown) => call.endSpan(call.code, result) }),
  ...(payload && {
    payload: (call: Call, result: unknown, error: string) => {
      if (call.context.stores === false) return
      call.payload = payload(call, call.code === undefined ? { result } : { error })
    },
  }),
  record: (call) => recorder.add(call),
})
