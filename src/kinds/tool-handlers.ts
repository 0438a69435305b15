import { readFileSync } from 'node:fs'
import { boolean, checkAll, string, wrongType } from '../core/check-options.ts'
import { codeIdentity } from '../core/execution/core-kinds.ts'
import type { Handler, IsolatedHandler, Kind } from '../core/handler.ts'
import { foreignText } from '../core/json/json-depth.ts'
import type { Effect, ToolDefinition } from '../core/tool.ts'
import { ToolExecutionError } from '../core/tool-result.ts'

interface Slot {
  handler: Handler | IsolatedHandler | undefined
  effect: Effect | undefined
  shared: boolean
}

/** The handlers that `builtin` and `internal` tools name in `implementation.handler`. */
export class ToolHandlers {
  readonly #slots = new Map<string, Slot>()
  readonly #listeners = new Set<() => void>()

  /**
   * Registers or replaces a handler. `effect` is the default for its tools. `shared`: its results are the same for all callers of
   * a tenant.
   */
  register(
    name: string,
    handler: Handler | IsolatedHandler,
    options: { readonly effect?: Effect; readonly shared?: boolean } = {},
  ): void {
    if (typeof handler !== 'function' && !isIsolated(handler)) {
      throw new TypeError(`Handler '${name}' must be a function, or isolated(module, export)`)
    }
    checkAll('ToolHandlers.register', options, { effect: string, shared: boolean })
    const slot = this.slot(name)
    slot.handler = handler
    slot.effect = options.effect
    slot.shared = options.shared === true
    for (const listener of this.#listeners) listener()
  }

  /** Calls back whenever a handler is registered. Returns a function that stops it. */
  onRegister(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get(name: string): Handler | IsolatedHandler | undefined {
    return this.#slots.get(name)?.handler
  }

  /** The slot of a handler, which may be registered or replaced later. */
  slot(name: string): Slot {
    let slot = this.#slots.get(name)
    if (slot === undefined) {
      slot = { handler: undefined, effect: undefined, shared: false }
      this.#slots.set(name, slot)
    }
    return slot
  }
}

/**
 * A handler that runs in the process pool: the export `name` of the module at `url`. It has no network access without
 * `network: true`.
 */
export function isolated(
  url: string | URL,
  name: string,
  options: { readonly network?: boolean } = {},
): IsolatedHandler {
  const { protocol, href } = new URL(url)
  if (protocol !== 'file:') {
    throw new TypeError(`An isolated handler needs a file: URL, not "${href}": use new URL('./x.ts', import.meta.url)`)
  }
  checkAll('isolated', options, { network: boolean })
  const { network } = options
  if (network !== undefined && typeof network !== 'boolean') {
    throw wrongType('isolated', 'network', 'true or false', network)
  }
  const source = (): string => readFileSync(new URL(href), 'utf8')
  return { module: href, export: name, source, ...(network !== undefined && { network }) }
}

const isIsolated = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'module' in value && 'export' in value

export function handlerKind(label: 'Builtin' | 'Internal', handlers: ToolHandlers): Kind {
  const missing = ({ implementation }: ToolDefinition) =>
    `${label} handler '${foreignText(implementation.handler)}' not found`
  const slotOf = (tool: ToolDefinition) => handlers.slot(foreignText(tool.implementation.handler))
  return {
    schema: { properties: { type: {}, handler: {}, network: {} } },
    effect: (tool) => slotOf(tool).effect ?? 'write',
    runsProgram(tool) {
      const { handler, shared } = slotOf(tool)
      // A child process knows nothing of the caller.
      return typeof handler === 'function' && !shared
    },
    fault: (tool) => (slotOf(tool).handler === undefined ? missing(tool) : undefined),
    identity: (tool) => ({ implementation: [tool.implementation, codeIdentity(tool, slotOf(tool).handler)] }),
    warning: (tool) =>
      tool.implementation.network !== undefined && typeof slotOf(tool).handler === 'function'
        ? `implementation.network has no effect: the handler '${foreignText(tool.implementation.handler)}' is not isolated`
        : undefined,
    bind(tool): () => Handler | IsolatedHandler {
      const slot = slotOf(tool)
      const { network } = tool.implementation
      return () => {
        const { handler } = slot
        if (handler === undefined) throw new ToolExecutionError('EXECUTION_ERROR', missing(tool))
        return network === undefined || typeof handler === 'function'
          ? handler
          : { ...handler, network: network === true }
      }
    },
  }
}
