import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { ExecutionMetrics } from '../../../src/core/storage/ledger.ts'
import type { PageTool } from '../../../src/server/http/views.ts'
import { requestJson } from '../api/request.ts'
import type { Option } from '../parts/choice.tsx'
import { successRate } from '../parts/figures.ts'
import { ownValue } from '../parts/own-value.ts'

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

/** The server is asked for what the words mean, and for words that are misspelled. */
export const foundQuery = (text: string) =>
  queryOptions({
    queryKey: ['tools', 'search', text],
    queryFn: ({ signal }) =>
      requestJson<{ tools: { name: string }[] }>(`/api/tools/search?${new URLSearchParams({ q: text, limit: '50' })}`, {
        signal,
      }),
    select: ({ tools }) => tools.map(({ name }) => name),
    enabled: text.trim() !== '',
    placeholderData: keepPreviousData,
  })

/** The tools that contain every word; those that the server has found if there are none. By default the best come first. */
export function wantedTools(
  tools: readonly PageTool[],
  figures: ToolFigures,
  search: ToolSearch,
  names: readonly string[] = [],
): PageTool[] {
  const words = search.text.toLowerCase().split(/\s+/).filter(Boolean)
  const chosen = tools.filter(
    ({ kind, effect }) =>
      (search.kind === '' || kind === search.kind) && (search.effect === '' || effect === search.effect),
  )
  const exact = chosen.filter((tool) => {
    const text = textOf(tool)
    return words.every((word) => text.includes(word))
  })
  const places = new Map(names.map((name, place) => [name, place]))
  const found = exact.length > 0 ? exact : chosen.filter(({ name }) => places.has(name))
  const weight = weights[search.sort]
  const byName = (one: PageTool, other: PageTool) => alphabet.compare(one.name, other.name)
  const placeOf = ({ name }: PageTool): number => places.get(name) ?? places.size
  if (weight === undefined) return found.sort((one, other) => placeOf(one) - placeOf(other) || byName(one, other))
  const of = ({ name }: PageTool): number => {
    const own = ownValue(figures, name)
    return own === undefined ? -1 : weight(own)
  }
  return found.sort((one, other) => of(other) - of(one) || byName(one, other))
}

/** Comparing with a collator takes a fifth of the time of `localeCompare`. */
const alphabet = new Intl.Collator('en')
const texts = new WeakMap<PageTool, string>()

function textOf(tool: PageTool): string {
  const known = texts.get(tool)
  if (known !== undefined) return known
  const { name, description, kind, origin, permissions } = tool
  const text = [name, description, kind, origin, ...permissions].join(' ').toLowerCase()
  texts.set(tool, text)
  return text
}

const weights: Readonly<Record<string, (figures: ToolFigures[string]) => number>> = {
  calls: ({ total }) => total,
  failing: (figures) => 1 - (successRate(figures) ?? 1),
  slow: ({ p95_ms }) => p95_ms,
}
