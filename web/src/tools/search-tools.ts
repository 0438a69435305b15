import type { ExecutionMetrics } from '../../../src/core/storage/ledger.ts'
import type { PageTool } from '../../../src/server/http/views.ts'
import type { Option } from '../parts/choice.tsx'

export type ToolFigures = ExecutionMetrics['tools']

/** The search text and filters; an empty string matches all. */
export interface ToolSearch {
  readonly text: string
  readonly kind: string
  readonly effect: string
  readonly sort: string
}

export const EFFECTS: readonly Option[] = [
  { value: '', label: 'Any effect' },
  { value: 'read', label: 'read' },
  { value: 'idempotent', label: 'idempotent' },
  { value: 'write', label: 'write' },
]

export const SORTS: readonly Option[] = [
  { value: 'name', label: 'By name' },
  { value: 'calls', label: 'Most called' },
  { value: 'failing', label: 'Most failing' },
  { value: 'slow', label: 'Slowest' },
]

export const kindsOf = (tools: readonly PageTool[]): Option[] => [
  { value: '', label: 'Any kind' },
  ...[...new Set(tools.map(({ kind }) => kind))].sort().map((kind) => ({ value: kind, label: kind })),
]

/** The tools that contain every word, sorted. */
export function wantedTools(tools: readonly PageTool[], figures: ToolFigures, search: ToolSearch): PageTool[] {
  const words = search.text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = tools.filter(({ name, description, kind, effect, origin, permissions }) => {
    if (search.kind !== '' && kind !== search.kind) return false
    if (search.effect !== '' && effect !== search.effect) return false
    if (words.length === 0) return true
    const text = [name, description, kind, origin, ...permissions].join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const weight = weights[search.sort]
  const byName = (one: PageTool, other: PageTool) => one.name.localeCompare(other.name)
  if (weight === undefined) return found.sort(byName)
  const of = ({ name }: PageTool): number => (figures[name] === undefined ? -1 : weight(figures[name]))
  return found.sort((one, other) => of(other) - of(one) || byName(one, other))
}

const weights: Readonly<Record<string, (figures: ToolFigures[string]) => number>> = {
  calls: ({ total }) => total,
  failing: ({ success_rate }) => 1 - success_rate,
  slow: ({ p95_ms }) => p95_ms,
}
