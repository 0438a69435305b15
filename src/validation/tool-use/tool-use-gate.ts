import type { GatedOffer, ToolGate } from '../../chat/tool-gate.ts'
import type { Offer } from '../../chat/tool-offer.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { GateDecision } from '../../core/storage/run-store.ts'
import type { DoubtfulToolUse, ToolUseStore } from '../../core/storage/tool-use-store.ts'
import { rates, schemaHash } from './tool-use.ts'

export interface GateSettings {
  /** `off`: nothing is decided. */
  readonly gate?: 'off' | 'warn' | 'hide'
  /** With fewer trials nothing is known; 10 if not given. */
  readonly minimum_trials?: number
  /** The part of the trials that must succeed; 0.8 if not given. */
  readonly threshold?: number
}

const DEFAULTS: Required<GateSettings> = { gate: 'off', minimum_trials: 10, threshold: 0.8 }

/** The settings that hold, with those that are not given. */
export const effectiveGate = (settings: GateSettings = {}): Required<GateSettings> => ({ ...DEFAULTS, ...settings })

/** What one model of one tenant fails with. */
interface Doubts {
  readonly uses: readonly DoubtfulToolUse[]
  /** Worked out once for each offer. */
  readonly judged: WeakMap<Offer, GatedOffer | typeof NOTHING>
}

const NOTHING = Symbol('nothing to decide')

/**
 * Acts on what is known of models and tools. It knows only what models fail with, reads that in the background, and
 * judges an offer once: a run never waits for it.
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

  constructor(store: ToolUseStore, decision: 'warn' | 'hide', settings: GateSettings, log: Log) {
    const { minimum_trials, threshold } = effectiveGate(settings)
    this.#store = store
    this.#log = log
    this.#decision = decision
    this.#minimumTrials = minimum_trials
    this.#threshold = threshold
  }

  /** Decides about an offer; undefined where there is nothing to decide. */
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

  /** Reads what models fail with; what was known before holds as long as it cannot be read. */
  refresh(): Promise<void> {
    // What is being read may be from before the change.
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
        writeLog(this.#log, 'warn', { err }, 'What models fail with could not be read: what was known before holds')
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

function without({ tools }: Offer, hidden: readonly GateDecision[]): Offer {
  const names = new Set(hidden.map(({ tool }) => tool))
  const left = tools.filter(({ name }) => !names.has(name))
  return { tools: left, names: new Set(left.map(({ name }) => name)) }
}

const keyOf = (tenant: string, model: string): string => `${tenant}\n${model}`
