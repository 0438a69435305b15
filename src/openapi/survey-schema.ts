import type { SchemaPart } from './schema-part.ts'
import { TooLarge } from './too-large.ts'

/** What must be known of the schemas that others refer to before they are written. */
export interface Survey {
  /** How often each is referred to. */
  readonly uses: ReadonlyMap<SchemaPart, number>
  /** How many levels below the parameters each is first met. */
  readonly levels: ReadonlyMap<SchemaPart, number>
  /** Those that are one of an `allOf`: whatever they forbid, the others may allow. */
  readonly composed: ReadonlySet<SchemaPart>
  /** Whether a reference in one schema leads back to it without going deeper into the value: no validator ends on that. */
  isCircle(from: SchemaPart, to: SchemaPart): boolean
}

interface Visit {
  readonly part: SchemaPart
  /** The schema that it was reached from by going deeper or staying, but by no reference. */
  readonly owner: SchemaPart
  /** Whether it judges the same value as its owner. */
  readonly here: boolean
  readonly composed: boolean
}

/** What a tool's schema can hold is less. */
const MOST_VISITS = 6_000

/** Walks everything that the parameters lead to, level by level, each referenced schema once. Throws `TooLarge`. */
export function surveySchema(roots: readonly SchemaPart[], deepest: number): Survey {
  const uses = new Map<SchemaPart, number>()
  const levels = new Map<SchemaPart, number>()
  const composed = new Set<SchemaPart>()
  const edges = new Map<SchemaPart, Set<SchemaPart>>()
  let visits = 0
  let level: Visit[] = roots.map((part) => ({ part, owner: part, here: true, composed: false }))
  for (let depth = 1; depth <= deepest && level.length > 0; depth++) {
    const next: Visit[] = []
    for (const { part, owner, here, composed: inAllOf } of level) {
      if (++visits > MOST_VISITS) throw new TooLarge()
      if (inAllOf) composed.add(part)
      const target = part.reference
      if (target !== undefined) {
        uses.set(target, (uses.get(target) ?? 0) + 1)
        if (inAllOf) composed.add(target)
        if (here) edges.set(owner, (edges.get(owner) ?? new Set()).add(target))
        if (!levels.has(target)) {
          levels.set(target, depth)
          level.push({ part: target, owner: target, here: true, composed: false })
        }
      }
      for (const { keyword, deeper, children } of part.steps) {
        for (const [, child] of children) {
          if (!deeper) level.push({ part: child, owner, here, composed: keyword === 'allOf' })
          else if (depth < deepest) next.push({ part: child, owner, here: false, composed: false })
        }
      }
    }
    level = next
  }
  const circles = circlesIn([...roots, ...levels.keys()], edges)
  return { uses, levels, composed, isCircle: (from, to) => circles.get(from)?.has(to) === true }
}

type Edges = ReadonlyMap<SchemaPart, ReadonlySet<SchemaPart>>

/** The edges that close a circle, so that without them there is none. */
function circlesIn(nodes: readonly SchemaPart[], edges: Edges): Map<SchemaPart, Set<SchemaPart>> {
  const circles = new Map<SchemaPart, Set<SchemaPart>>()
  const done = new Set<SchemaPart>()
  const open = new Set<SchemaPart>()
  const trail: { readonly node: SchemaPart; readonly targets: Iterator<SchemaPart> }[] = []
  const enter = (node: SchemaPart): void => {
    open.add(node)
    trail.push({ node, targets: (edges.get(node) ?? new Set<SchemaPart>()).values() })
  }
  for (const start of nodes) {
    if (!done.has(start)) enter(start)
    for (let at = trail.at(-1); at !== undefined; at = trail.at(-1)) {
      const { done: ended, value: target } = at.targets.next()
      if (ended) {
        open.delete(at.node)
        done.add(at.node)
        trail.pop()
      } else if (open.has(target)) circles.set(at.node, (circles.get(at.node) ?? new Set()).add(target))
      else if (!done.has(target)) enter(target)
    }
  }
  return circles
}
