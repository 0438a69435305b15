import type { Kind } from '../handler.ts'
import { foreignText } from '../json/json-depth.ts'
import type { ToolDefinition } from '../tool.ts'
import type { ToolRegistry } from './tool-registry.ts'

/** Why `shared` can't be set. */
export function sharedFault({ shared }: ToolDefinition, kind: Kind | undefined): string | undefined {
  if (shared === undefined) return undefined
  if (typeof shared !== 'boolean') return `shared must be true or false, not ${foreignText(shared)}`
  if (kind?.runsProgram !== false) return undefined
  return 'shared is only for tools whose function is in code: remove it'
}

type Check = () => boolean

/**
 * Finds the tools that run functions of the program, which may know more of their caller than a call says: the session of a
 * framework, such as the cookies of a request.
 */
export class ProgramTools {
  readonly #registry: ToolRegistry
  readonly #kinds: ReadonlyMap<string, Kind>

  constructor(registry: ToolRegistry, kinds: ReadonlyMap<string, Kind>) {
    this.#registry = registry
    this.#kinds = kinds
  }

  /**
   * Whether calls of a tool run such a function, in the tool or in one that it calls. The tools that it calls are found again when
   * the registry has changed, and the function of a handler may be replaced at any time.
   */
  of(tool: ToolDefinition): () => boolean {
    let checks: readonly Check[] = []
    let at: number | undefined
    return () => {
      const { version } = this.#registry
      if (at !== version) {
        checks = [...this.#checks(tool, new Set([tool.name]))]
        at = version
      }
      return checks.some((check) => check())
    }
  }

  *#checks(tool: ToolDefinition, visited: Set<string>): Generator<Check> {
    const kind = this.#kinds.get(tool.implementation?.type)
    const own = kind?.runsProgram
    if (tool.shared !== true && own !== false) yield () => own?.call(kind, tool) ?? true
    if (kind?.callees === undefined) return
    // The steps of an invalid definition can't be read.
    if (kind.problem?.(tool) !== undefined) {
      yield () => true
      return
    }
    for (const name of kind.callees(tool)) {
      if (visited.has(name)) continue
      visited.add(name)
      for (const one of this.#registry.reachable(name)) yield* this.#checks(one, visited)
    }
  }
}
