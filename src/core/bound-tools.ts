import { BoundTool } from './bound-tool.ts'
import { type Call, clampTimeout } from './call.ts'
import type { Kind } from './kind.ts'
import { notFound } from './not-found.ts'
import type { ToolDefinition } from './tool.ts'
import type { CircuitState } from './tool-health.ts'
import type { ToolRegistry } from './tool-registry.ts'

/** The registered tools, each made ready when it is first called. */
export class BoundTools {
  readonly #registry: ToolRegistry
  readonly #kinds: ReadonlyMap<string, Kind>
  readonly #defaultTimeoutMs: number
  readonly #tools = new Map<string, BoundTool>()

  constructor(registry: ToolRegistry, kinds: Readonly<Record<string, Kind>>, defaultTimeoutMs: number) {
    this.#registry = registry
    this.#kinds = new Map(Object.entries(kinds))
    this.#defaultTimeoutMs = defaultTimeoutMs
    registry.onChange((name) => this.#tools.delete(name))
  }

  /** How many calls are running now. */
  get running(): number {
    let running = 0
    for (const tool of this.#tools.values()) running += tool.running
    return running
  }

  /** The tool of a call, which gets its deadline from it. Throws where the caller sees no such tool. */
  find(call: Call): BoundTool {
    const tool = this.#tools.get(call.tool) ?? this.#bindRegistered(call)
    if (call.context.visible?.has(tool.name) === false) throw notFound(call, this.#registry.definitions())
    call.bound = tool
    const asked = call.context.timeoutMs
    if (asked === undefined) call.timeoutMs = tool.limits.timeoutMs
    else call.timeoutMs = call.source === 'job' ? asked : clampTimeout(asked, tool.limits.timeoutMs)
    return tool
  }

  /** Whether tools of this `implementation.type` can be run. */
  hasKind(type: string): boolean {
    return this.#kinds.has(type)
  }

  /** A tool that was called before. */
  bound(name: string): BoundTool | undefined {
    return this.#tools.get(name)
  }

  /** The circuits of the tools that were called before, where they have one. */
  *circuits(): Generator<readonly [tool: string, circuit: CircuitState]> {
    for (const tool of this.#tools.values()) {
      const { circuit } = tool
      if (circuit !== undefined) yield [tool.name, circuit]
    }
  }

  /** Makes a tool ready that need not be registered. */
  bind(definition: ToolDefinition): BoundTool {
    return new BoundTool(definition, this.#kinds.get(definition.implementation?.type), this.#defaultTimeoutMs)
  }

  #bindRegistered(call: Call): BoundTool {
    const registered = this.#registry.find(call.tool)
    if (registered === undefined) throw notFound(call, this.#registry.definitions())
    const definition = this.#registry.definitionOf(registered)
    const tool = this.#tools.get(definition.name) ?? this.bind(definition)
    this.#tools.set(definition.name, tool)
    return tool
  }
}
