import { hash } from 'node:crypto'
import type { Identity, Kind } from '../handler.ts'
import { canonicalText } from '../json/canonical-text.ts'
import type { ToolDefinition } from '../tool.ts'
import { type Code, codeText } from './core-kinds.ts'
import { migrationsOf, pinnedName } from './tool-view.ts'

/** Where the parts of a definition come from. */
export interface DefinitionParts {
  kindOf(tool: ToolDefinition): Kind | undefined
  /** The versions of a tool that callers may get. */
  reachable(name: string): readonly ToolDefinition[]
  /** Resolves when the tools that other servers list are known, or those servers have failed. */
  settled(): Promise<void>
}

/**
 * The hash of what calls of a tool do: kind, implementation, parameters with their migrations, effect and version, of the tool and of all tools that
 * it may call. Equal on every server with the same configuration. Rejects if a part isn't known yet.
 */
export async function definitionHash(tool: ToolDefinition, parts: DefinitionParts): Promise<string> {
  const found = new Map<string, unknown>()
  const waiting = [tool]
  // Each tool once: tools may call each other.
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const name = pinnedName(one)
    if (found.has(name)) continue
    const kind = parts.kindOf(one)
    if (kind?.callees !== undefined) await parts.settled()
    const identity = await identityOf(one, kind)
    // Code may call whatever it may call: a person can't tell from its text.
    const calls = identity.calls ?? kind?.callees?.(one) ?? []
    const { implementation } = identity
    // The effect of a tool that calls others follows from theirs.
    const effect = one.effect ?? (kind?.callees === undefined ? kind?.effect(one) : undefined)
    const migrations = migrationsOf(one).map(({ from: _, ...migration }) => migration)
    const parameters = migrations.length === 0 ? one.parameters : [one.parameters, migrations]
    found.set(name, [one.implementation?.type, implementation, parameters, effect, one.version, calls])
    for (const callee of calls) waiting.push(...parts.reachable(callee))
  }
  const others = [...found].filter(([name]) => name !== pinnedName(tool)).sort(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', canonicalText([found.get(pinnedName(tool)), others]))
}

async function identityOf(tool: ToolDefinition, kind: Kind | undefined): Promise<Identity> {
  if (kind?.identity !== undefined) return kind.identity(tool)
  const calls = kind?.problem?.(tool) === undefined ? kind?.callees?.(tool) : undefined
  const implementation = Object.entries(tool.implementation ?? {}).map(([key, value]) => [
    key,
    typeof value === 'function' ? codeText(value as Code) : value,
  ])
  return { implementation: Object.fromEntries(implementation), ...(calls && { calls }) }
}
