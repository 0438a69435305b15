import type { CallContext } from '../core/call-context.ts'
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

type Rights = Pick<CallContext, 'flags' | 'tools'>
type Flags = Readonly<Record<string, boolean>>
type Names = readonly string[]

const EVERY_TOOL: Names = Object.freeze([])

/** Caches offers per registry version, so that a run's cost doesn't depend on the number of tools. */
export class ToolOffer {
  readonly #registry: ToolRegistry
  #version = -1
  #offers = new WeakMap<Flags, WeakMap<Names, WeakMap<Names, Offer>>>()

  constructor(registry: ToolRegistry) {
    this.#registry = registry
  }

  /** The permitted tools in `allowed`; all permitted tools by default. */
  to(rights: Rights = {}, allowed: Names = EVERY_TOOL): Offer {
    if (this.#version !== this.#registry.version) {
      this.#version = this.#registry.version
      this.#offers = new WeakMap()
    }
    const { flags = NO_FLAGS, tools = EVERY_TOOL } = rights
    const ofFlags = this.#offers.get(flags) ?? new WeakMap<Names, WeakMap<Names, Offer>>()
    this.#offers.set(flags, ofFlags)
    const offers = ofFlags.get(tools) ?? new WeakMap<Names, Offer>()
    ofFlags.set(tools, offers)
    const known = offers.get(allowed)
    if (known !== undefined) return known
    const offer = this.#make(rights, allowed)
    offers.set(allowed, offer)
    return offer
  }

  #make(rights: Rights, allowed: Names): Offer {
    const named = allowed === EVERY_TOOL ? this.#registry.definitions() : this.#named(allowed)
    const tools = named
      .filter((tool) => this.#registry.brokenReason(tool.name) === undefined)
      .filter((tool) => missingPermission(tool, rights) === undefined)
      .map((tool) => this.#registry.shownTo(tool, rights))
    return { tools, names: new Set(tools.map((tool) => tool.name)) }
  }

  #named(allowed: Names): ToolDefinition[] {
    const found = allowed.map((name) => this.#registry.find(name)).filter((tool) => tool !== undefined)
    return [...new Set(found)].map((tool) => this.#registry.definitionOf(tool))
  }
}
