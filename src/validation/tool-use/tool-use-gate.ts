import type { GatedOffer, Offer, ToolGate } from '../../chat/tool-offer.ts'
import type { Described } from '../../core/json/described.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { GateDecision } from '../../core/storage/run-store.ts'
import type { DoubtfulToolUse, ToolUseStore } from '../../core/storage/tool-use-store.ts'
import { rates, schemaHash } from './tool-use.ts'

/** The key `validation`. */
export const GATE_SCHEMA = {
  type: 'object',
  description: 'The validation gate: what happens to tools that a model fails with.',
  additionalProperties: false,
  properties: {
    gate: {
      enum: ['off', 'warn', 'hide'],
      description: 'off (default): nothing; warn: the run has a warning; hide: the model is not offered them.',
    },
    minimum_trials: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      description: 'The minimum number of trials for a decision. Default: 10.',
    },
    threshold: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1,
      description: 'The required success rate. Default: 0.8.',
    },
  },
} as const

export interface GateSettings extends Described<typeof GATE_SCHEMA> {}

const DEFAULTS: Required<GateSettings> = { gate: 'off', minimum_trials: 10, threshold: 0.8 }

export const effectiveGate = (settings: GateSettings = {}): Required<GateSettings> => ({ ...DEFAULTS, ...settings })

/** The tools that a model of a tenant fails with. */
interface Doubts {
  readonly uses: readonly DoubtfulToolUse[]
  readonly judged: WeakMap<Offer, GatedOffer | typeof NOTHING>
}

const NOTHING = Symbol('nothing to decide')

/**
 * The validation gate: warns about or hides tools that a model fails with. Reads the failing pairs in the background
 * and judges each offer once, so that runs never wait.
 */
export class ToolUseGate {
  readonly #store: ToolUseStore
  readonly #log: Log
  readonly #decision: 'warn' | 'hide'
  readonly #minimumTrials: number
  readonly #threshold: number
  #doubts: ReadonlyMap<string, Doubts> = new Map()
  #reading: Promise<void> | undefined
  #again = false

  /** Opens the gate with the results so far; undefined if it is off. */
  static async open(
    store: ToolUseStore,
    settings: GateSettings | undefined,
    log: Log,
  ): Promise<ToolUseGate | undefined> {
    const { gate } = effectiveGate(settings)
    if (gate === 'off') return undefined
    const opened = new ToolUseGate(store, gate, settings ?? {}, log)
    await opened.refresh()
    return opened
  }

  constructor(store: ToolUseStore, decision: 'warn' | 'hide', settings: GateSettings, log: Log) {
    const { minimum_trials, threshold } = effectiveGate(settings)
    this.#store = store
    this.#log = log
    this.#decision = decision
    this.#minimumTrials = minimum_trials
    this.#threshold = threshold
  }

  /** Judges an offer; undefined if no tool is affected. */
  readonly judge: ToolGate = (offer, model, tenant) => {
    const doubts = this.#doubts.get(keyOf(tenant, model))
    if (doubts === undefined) return undefined
    let judged = doubts.judged.get(offer)
    if (judged === undefined) {
      judged = this.#judge(offer, doubts.uses) ?? NOTHING
      doubts.judged.set(offer, judged)
    }
    return judged === NOTHING ? undefined : judged
  }

  /** Reads the failing pairs again; keeps the known ones if reading fails. */
  refresh(): Promise<void> {
    // The read in progress may miss the latest change.
    if (this.#reading !== undefined) this.#again = true
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    do {
      this.#again = false
      try {
        const uses = await this.#store.doubtful(this.#minimumTrials, this.#threshold)
        const grouped = Map.groupBy(uses, ({ tenant, model_id }) => keyOf(tenant, model_id))
        this.#doubts = new Map(
          Array.from(grouped, ([key, uses]) => [key, { uses, judged: new WeakMap<Offer, GatedOffer>() }]),
        )
      } catch (err) {
        writeLog(this.#log, 'warn', { err }, 'Could not refresh the validation gate: using the previous state')
      }
    } while (this.#again)
  }

  #judge(offer: Offer, uses: readonly DoubtfulToolUse[]): GatedOffer | undefined {
    const doubtful = new Map(uses.map((use) => [`${use.schema_hash} ${use.tool}`, use]))
    const decisions: GateDecision[] = []
    for (const tool of offer.tools) {
      const use = doubtful.get(`${schemaHash(tool)} ${tool.name}`)
      if (use === undefined) continue
      const { trials, successes } = use
      decisions.push({
        tool: tool.name,
        decision: this.#decision,
        trials,
        successes,
        ...rates(successes, trials),
        threshold: this.#threshold,
      })
    }
    if (decisions.length === 0) return undefined
    return { offer: this.#decision === 'warn' ? offer : without(offer, decisions), decisions }
  }
}

function without({ tools, ...rest }: Offer, hidden: readonly GateDecision[]): Offer {
  const names = new Set(hidden.map(({ tool }) => tool))
  const left = tools.filter(({ name }) => !names.has(name))
  return { ...rest, tools: left, names: new Set(left.map(({ name }) => name)) }
}

const keyOf = (tenant: string, model: string): string => `${tenant}\n${model}`
