import type { Handler, IsolatedHandler } from '../core/handler.ts'
import type { Effect } from '../core/tool.ts'

interface Slot {
  handler: Handler | IsolatedHandler | undefined
  effect: Effect | undefined
}

/** The code that tools of the kinds `builtin` and `internal` name by `implementation.handler`. */
export class ToolHandlers {
  readonly #slots = new Map<string, Slot>()

  /** Puts a handler under a name, in place of the one before. `effect` holds for tools that name none. */
  register(name: string, handler: Handler | IsolatedHandler, options: { readonly effect?: Effect } = {}): void {
    if (typeof handler !== 'function' && !isIsolated(handler)) {
      throw new TypeError(`Handler '${name}' must be a function, or isolated(module, export)`)
    }
    const slot = this.slot(name)
    slot.handler = handler
    slot.effect = options.effect
  }

  get(name: string): Handler | IsolatedHandler | undefined {
    return this.#slots.get(name)?.handler
  }

  /** The place of a handler, filled or not: who holds it sees a handler that comes, or changes, later. */
  slot(name: string): Slot {
    let slot = this.#slots.get(name)
    if (slot === undefined) {
      slot = { handler: undefined, effect: undefined }
      this.#slots.set(name, slot)
    }
    return slot
  }
}

/** A handler that runs in a process of its own: the function `name` that the module at `url` exports. */
export function isolated(url: string | URL, name: string): IsolatedHandler {
  const { protocol, href } = new URL(url)
  if (protocol !== 'file:') {
    throw new TypeError(`An isolated handler needs a file: URL, not "${href}": use new URL('./x.ts', import.meta.url)`)
  }
  return { module: href, export: name }
}

const isIsolated = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'module' in value && 'export' in value
