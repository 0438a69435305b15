import type { Clock } from '../../core/clock.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { pinnedName } from '../../core/execution/tool-view.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'

/** What kinds whose tools call others share. */
export interface CompositeParts {
  readonly registry: ToolRegistry
  readonly clock: Clock
  readonly maxParallel?: number | undefined
  effectOf(name: string): Effect | undefined
  /** The tools that a tool calls; undefined if it calls none by itself. */
  calleesOf(tool: ToolDefinition): readonly string[] | undefined
}

/** Runs at most this many calls at a time. The others wait in the order of arrival. */
export class CallSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await call()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'write']

/** The strongest effect of all tools that a tool may call, directly or through others. */
export function strongestEffect(tool: ToolDefinition, parts: CompositeParts): Effect {
  let strongest = 0
  const names = new Set(parts.calleesOf(tool))
  // The set grows while it is read.
  for (const name of names) {
    if (name === tool.name) continue
    const versions = parts.registry.reachable(name)
    if (versions.length === 0) strongest = EFFECTS.indexOf('write')
    for (const definition of versions) {
      const inner = definition.effect === undefined ? parts.calleesOf(definition) : undefined
      for (const one of inner ?? []) names.add(one)
      if (inner !== undefined) continue
      const effect = definition.effect ?? parts.effectOf(pinnedName(definition)) ?? 'write'
      strongest = Math.max(strongest, EFFECTS.indexOf(effect))
    }
  }
  return EFFECTS[strongest] ?? 'write'
}
