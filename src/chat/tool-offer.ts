import { missingPermission, NO_FLAGS } from '../core/execution/permit.ts'
import type { ToolRegistry } from '../core/execution/tool-registry.ts'
import type { GateDecision } from '../core/storage/run-store.ts'
import type { ToolDefinition } from '../core/tool.ts'

export interface GatedOffer {
  readonly offer: Offer
  readonly decisions: readonly GateDecision[]
}

/** Hides tools from a model, or warns about them; undefined if none. Synchronous: runs never wait for a store. */
export type ToolGate = (offer: Offer, model: string, tenant: string) => GatedOffer | undefined

/** The tools available to a run. */
export interface Offer {
  readonly tools: readonly ToolDefinition[]
  readonly names: ReadonlySet<string>
}

type Flags = Readonly<Record<string, boolean>>

const EVERY_TOOL: readonly string[] = Object.freeze([])

/** Caches offers per registry version, so that a run's cost doesn't depend on the number of tools. */
export class ToolOffer {
  readonly #registry: ToolRegistry
  #version = -1
  #offers = new WeakMap<Flags, WeakMap<readonly string[], Offer>>()

  constructor(registry: ToolRegistry) {
    this.#registry = registry
  }

  /** The permitted tools in `allowed`; all permitted tools by default. */
  to(flags: Flags = NO_FLAGS, allowed: readonly string[] = EVERY_TOOL): Offer {
    if (this.#version !== this.#registry.version) {
      this.#version = this.#registry.version
      this.#offers = new WeakMap()
    }
    const offers = this.#offers.get(flags) ?? new WeakMap<readonly string[], Offer>()
    this.#offers.set(flags, offers)
    const known = offers.get(allowed)
    if (known !== undefined) return known
    const offer = this.#make(flags, allowed)
    offers.set(allowed, offer)
    return offer
  }

  #make(flags: Flags, allowed: readonly string[]): Offer {
    const named = allowed === EVERY_TOOL ? this.#registry.definitions() : this.#named(allowed)
    const tools = named.filter(
      (tool) => this.#registry.brokenReason(tool.name) === undefined && missingPermission(tool, flags) === undefined,
    )
    return { tools, names: new Set(tools.map((tool) => tool.name)) }
  }

  #named(allowed: readonly string[]): ToolDefinition[] {
    const found = allowed.map((name) => this.#registry.find(name)).filter((tool) => tool !== undefined)
    return [...new Set(found)].map((tool) => this.#registry.definitionOf(tool))
  }
}
