import type { Allowance, ParentCall, Spending } from '../core/call-context.ts'
import { Cancellation, type CancelSignal } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { toMicros } from '../core/costs.ts'
import type { MediaPart } from '../core/tool-result.ts'
import { mediaIn, textIn } from '../models/content.ts'
import type { Message, OfferedTool, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { costOf, type ModelPrices } from '../models/model-info.ts'
import type { Budget } from './run.ts'

/** Reserved for a final request without tools. */
const RESERVED_SHARE = 0.1
const MIN_RESERVED_TOKENS = 256
const MIN_RESERVED_MS = 5_000
const MIN_ANSWER_TOKENS = 16

const NOTHING: Spending = Object.freeze({ tokens: 0, cost: 0 })

/** The exhausted limit, as part of a sentence. */
interface Exhausted {
  readonly limit: string
}

/** Tracks the remaining tokens and cost of a run, and refuses requests that could exceed them. */
export class RunBudget implements Allowance {
  readonly #tokens: number
  readonly #cost: number
  readonly #prices: ModelPrices
  readonly #limits: Budget
  readonly #reserved: { readonly tokens: number; readonly cost: number }
  /** The allowance of the run that called this one. */
  readonly #outer: Allowance | undefined
  #spent: Spending = NOTHING
  /** Set aside by the runs of agents. */
  #held: Spending = NOTHING
  /** Set aside in the outer allowance by the current request. */
  #holding: Spending = NOTHING
  /** Upper bound for the tokens of the next prompt. */
  #prompt: number

  constructor(
    limits: Budget,
    prices: ModelPrices | undefined,
    messages: readonly Message[],
    tools: readonly OfferedTool[],
    outer?: Allowance,
  ) {
    const given = outer?.left()
    if (given !== undefined && Number.isFinite(given.cost) && prices === undefined) {
      throw new TypeError('The caller has a cost budget, which needs the prices of the model: set models[].prices')
    }
    this.#outer = outer
    if (limits.cost !== undefined && prices === undefined) {
      throw new TypeError('A cost budget needs the prices of the model: set models[].prices')
    }
    this.#limits = limits
    this.#tokens = limits.tokens ?? Number.POSITIVE_INFINITY
    this.#cost = limits.cost ?? Number.POSITIVE_INFINITY
    this.#prices = prices ?? { input: 0, output: 0 }
    this.#reserved = { tokens: reserve(this.#tokens, MIN_RESERVED_TOKENS), cost: reserve(this.#cost, 0) }
    this.#prompt = promptBound(messages, tools)
  }

  allow(maxTokens: number | undefined, last: boolean): number | undefined | Exhausted {
    const { output } = this.#prices
    const reserved = last ? { tokens: 0, cost: 0 } : this.#reserved
    const left = this.#leftBut(reserved)
    const tokens = left.tokens - this.#prompt
    const money = left.cost - costOf(this.#prices, this.#prompt, 0)
    const affordable = money < 0 ? -1 : output === 0 ? Number.POSITIVE_INFINITY : (money * 1_000_000) / output
    const least = Math.min(maxTokens ?? MIN_ANSWER_TOKENS, MIN_ANSWER_TOKENS)
    if (tokens < least) return { limit: limitOf('token', this.#limits.tokens) }
    if (affordable < least) return { limit: limitOf('cost', this.#limits.cost) }
    const most = Math.floor(Math.min(maxTokens ?? Number.POSITIVE_INFINITY, tokens, affordable))
    const isBounded = Number.isFinite(most)
    if (this.#outer !== undefined && isBounded) {
      this.#holding = { tokens: this.#prompt + most, cost: costOf(this.#prices, this.#prompt, most) }
      this.#outer.hold(this.#holding, 1)
    }
    return isBounded ? most : undefined
  }

  left(): Spending {
    return this.#leftBut(this.#reserved)
  }

  hold({ tokens, cost }: Spending, sign: 1 | -1): void {
    this.#held = { tokens: this.#held.tokens + sign * tokens, cost: this.#held.cost + sign * cost }
    this.#outer?.hold({ tokens, cost }, sign)
  }

  /** What the run of an agent has spent. */
  charge(amount: Spending): void {
    this.#spent = { tokens: this.#spent.tokens + amount.tokens, cost: this.#spent.cost + amount.cost }
    this.#outer?.charge(amount)
  }

  get spent(): Spending {
    return this.#spent
  }

  /** Continues with what the run and its agents had spent when it was stored. The outer run has its own record of that. */
  restore(spent: Spending): void {
    this.#spent = spent
  }

  /** Gives back what the last request has set aside. */
  release(): void {
    this.#outer?.hold(this.#holding, -1)
    this.#holding = NOTHING
  }

  #leftBut(reserved: Spending): Spending {
    const outer = this.#outer?.left()
    const tokens = this.#tokens - this.#spent.tokens - this.#held.tokens - reserved.tokens
    const cost = this.#cost - this.#spent.cost - this.#held.cost - reserved.cost
    return outer === undefined
      ? { tokens, cost }
      : { tokens: Math.min(tokens, outer.tokens), cost: Math.min(cost, outer.cost) }
  }

  /** Records a turn; its answer becomes part of the next prompt. A stored turn was charged to the outer run before. */
  spend(usage: Usage | undefined, said: string, isStored = false): void {
    const prompt = usage?.prompt_tokens ?? this.#prompt
    const completion = usage?.completion_tokens ?? textBound(said)
    this.release()
    const tokens = Math.max(usage?.total_tokens ?? 0, prompt + completion)
    const cost = costOf(this.#prices, prompt, completion)
    if (isStored) this.restore({ tokens: this.#spent.tokens + tokens, cost: this.#spent.cost + cost })
    else this.charge({ tokens, cost })
    this.#prompt = prompt + completion + TOKENS_PER_MESSAGE
  }

  grow(messages: readonly Message[], tools: readonly OfferedTool[]): void {
    this.#prompt += promptBound(messages, tools)
  }
}

function limitOf(what: 'token' | 'cost', limit: number | undefined): string {
  if (limit === undefined) return `the ${what} limit of the run that called me`
  return what === 'token' ? `the limit of ${limit} tokens` : `the cost limit of ${limit}`
}

export type Interruption = 'cancelled' | 'timeout'

/** Cancels a run on abort or timeout. `work` ends first, to leave time for a final request. */
export class RunSignals {
  readonly whole = new Cancellation()
  /** For turns with tools, and their calls. */
  readonly work: Cancellation
  readonly #caller: CancelSignal | undefined
  readonly #timers: (() => void)[] = []
  readonly #cancel = (): void => this.#end(this.#caller?.reason)

  constructor(caller: CancelSignal | undefined, wallTimeMs: number | undefined, usedMs: number, clock: Clock) {
    this.#caller = caller
    const workingMs = wallTimeMs && workingTime(wallTimeMs)
    this.work = workingMs === wallTimeMs ? this.whole : new Cancellation()
    if (wallTimeMs !== undefined && workingMs !== undefined) {
      const late = new DOMException('The run timed out', 'TimeoutError')
      const end = (ms: number, abort: () => void) => (ms > 0 ? this.#timers.push(clock.after(ms, abort)) : abort())
      end(workingMs - usedMs, () => this.work.abort(late))
      end(wallTimeMs - usedMs, () => this.#end(late))
    }
    if (caller?.aborted) this.#cancel()
    else caller?.addEventListener('abort', this.#cancel)
  }

  get interruption(): Interruption | undefined {
    if (this.#caller?.aborted) return 'cancelled'
    return this.work.aborted ? 'timeout' : undefined
  }

  /** Aborts what still runs if the run is left early: aborting takes as long as a turn. */
  close(isOver: boolean): void {
    for (const cancel of this.#timers) cancel()
    this.#caller?.removeEventListener('abort', this.#cancel)
    if (!isOver) this.#end(undefined)
  }

  #end(reason: unknown): void {
    this.work.abort(reason)
    this.whole.abort(reason)
  }
}

/** A run that a call makes ends with the call. */
export function wallTime(limit: number | undefined, parent: ParentCall | undefined, clock: Clock): number | undefined {
  if (parent === undefined || !Number.isFinite(parent.deadline)) return limit
  return Math.round(Math.min(limit ?? Number.POSITIVE_INFINITY, Math.max(1, parent.deadline - clock.now())))
}

/** The time until tools and turns are cancelled; the rest is reserved for a final request. */
function workingTime(wallTimeMs: number): number {
  return wallTimeMs - reserve(wallTimeMs, MIN_RESERVED_MS)
}

/** Limits that are too small for a reserve have none. */
function reserve(limit: number, least: number): number {
  if (!Number.isFinite(limit)) return 0
  const reserved = Math.max(limit * RESERVED_SHARE, least)
  return reserved < limit ? reserved : 0
}

/** Upper bound for a provider's own tokens per message. */
const TOKENS_PER_MESSAGE = 16
const TOKENS_FOR_TOOLS = 400
const TOKENS_PER_IMAGE = 5_000
const CHARACTERS_PER_FILE_TOKEN = 4
/** Schemas are English text: every tokenizer needs more than two bytes per token. */
const BYTES_PER_SCHEMA_TOKEN = 2

/** A text never has more tokens than bytes. */
export const textBound = (text: string): number => Buffer.byteLength(text)

/** Upper bound for the tokens of a prompt, for any tokenizer. */
export function promptBound(messages: readonly Message[], tools: readonly OfferedTool[]): number {
  let bound = tools.length === 0 ? 0 : TOKENS_FOR_TOOLS + toolBytes(tools) / BYTES_PER_SCHEMA_TOKEN
  for (const message of messages) bound += TOKENS_PER_MESSAGE + messageBytes(message)
  return Math.ceil(bound)
}

function messageBytes(message: Message): number {
  let bytes = textBound(textIn(message.content))
  for (const part of mediaIn(message.content)) bytes += mediaTokens(part)
  if (message.role === 'tool') bytes += textBound(message.name) + textBound(message.tool_call_id)
  if (message.role !== 'assistant') return bytes
  for (const { id, function: called } of message.tool_calls ?? []) {
    bytes += textBound(id) + textBound(called.name) + textBound(called.arguments) + TOKENS_PER_MESSAGE
  }
  return bytes
}

/** An estimate: a provider counts images by their size in pixels, and other media by their length or pages. */
const mediaTokens = ({ type, data = '' }: MediaPart): number =>
  type === 'image' ? TOKENS_PER_IMAGE : Math.ceil(data.length / CHARACTERS_PER_FILE_TOKEN)

function toolBytes(tools: readonly OfferedTool[]): number {
  return tools.reduce(
    (bytes, { name, description, parameters }) =>
      bytes + textBound(name) + textBound(description) + textBound(JSON.stringify(parameters)),
    0,
  )
}

/** The statuses of a provider that did not respond in time. */
export const TIMED_OUT: ReadonlySet<number | undefined> = new Set([408, 504])

interface UnknownTurn {
  readonly messages: readonly Message[]
  readonly tools: readonly OfferedTool[]
  readonly said: string
  /** Undefined if the turn did not fail. */
  readonly thrown: unknown
  /** Whether its caller left, or its time was over. */
  readonly interrupted: boolean
  /** What budgets have set aside for it. */
  readonly held: number | undefined
}

/** What a turn counts against budgets if its cost is unknown: callers that leave early must not spend without limit. */
export function estimateOf(prices: ModelPrices | undefined, turn: UnknownTurn): number | undefined {
  const { messages, tools, said, thrown, interrupted, held = 0 } = turn
  const isLate = thrown instanceof ModelError && TIMED_OUT.has(thrown.status)
  const isCut = thrown === undefined || isLate || interrupted
  // A provider that refuses a request does not charge for it.
  if (prices === undefined || (!isCut && said === '')) return undefined
  return Math.max(toMicros(costOf(prices, promptBound(messages, tools), textBound(said))), held)
}
