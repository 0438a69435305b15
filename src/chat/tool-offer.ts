import type { CallContext } from '../core/call-context.ts'
import { missingPermission, NO_FLAGS } from '../core/execution/permit.ts'
import type { ToolRegistry } from '../core/execution/tool-registry.ts'
import { versionOf } from '../core/execution/tool-view.ts'
import type { GateDecision } from '../core/storage/run-store.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { ToolCall } from '../models/model.ts'

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
  /** By tool: the offered version, of tools that have several. */
  readonly versions?: ReadonlyMap<string, string>
}

/** By tool: the offered versions of the called tools. */
export const versionsIn = ({ tools }: Offer, calls: readonly ToolCall[]): Record<string, string> =>
  Object.fromEntries(
    calls.flatMap(({ function: { name } }) => {
      const tool = tools.find((one) => one.name === name)
      return tool === undefined ? [] : [[name, versionOf(tool)]]
    }),
  )

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
  to(rights: CallContext = {}, allowed: Names = EVERY_TOOL): Offer {
    // Callers with the same rights may get other versions.
    if (this.#registry.isRollingOut || rights.versions !== undefined) return this.#make(rights, allowed)
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

  #make(rights: CallContext, allowed: Names): Offer {
    const tools = this.#registry
      .offered(rights, allowed === EVERY_TOOL ? undefined : allowed)
      .filter((tool) => this.#registry.brokenReason(tool) === undefined)
      .filter((tool) => missingPermission(tool, rights) === undefined)
      .map((tool) => this.#registry.shownTo(tool, rights))
    const versioned = tools.filter(({ name }) => this.#registry.hasVersions(name))
    const versions = new Map(versioned.map((tool) => [tool.name, versionOf(tool)]))
    return { tools, names: new Set(tools.map((tool) => tool.name)), ...(versions.size > 0 && { versions }) }
  }
}
