import type { ListedRun } from '../../../src/core/storage/run-store.ts'
import type { SavedView } from '../../../src/operations/views.ts'
import type { PageTool } from '../../../src/server/http/views.ts'
import { viewText } from '../activity/views/saved-views.ts'
import type { ListedModel } from '../api/queries.ts'
import { inDate } from '../parts/figures.ts'
import { FuzzyIndex } from '../parts/fuzzy.ts'
import { excerpt } from '../parts/shortened.ts'
import { JOBS } from '../setup/jobs.ts'
import { SHORTCUTS_HASH } from './shortcuts-hash.ts'

const MAX_TITLE = 80

/** Something that the palette can open. */
export interface PaletteEntry {
  readonly kind: 'page' | 'add' | 'tool' | 'model' | 'view' | 'thread' | 'run'
  readonly title: string
  readonly detail?: string
  readonly href: string
}

export const PAGE_ENTRIES: readonly PaletteEntry[] = [
  { kind: 'page', title: 'Tools', href: '/' },
  { kind: 'page', title: 'Testing', detail: 'new thread', href: '/tools-testing' },
  { kind: 'page', title: 'Models', detail: 'validation and suites', href: '/models' },
  { kind: 'page', title: 'Activity', detail: 'audit log of calls', href: '/activity' },
  { kind: 'page', title: 'Runs', detail: 'questions, answers and timelines', href: '/activity/runs' },
  { kind: 'page', title: 'Calls', detail: 'parameters and results', href: '/activity/calls' },
  { kind: 'page', title: 'Chats', detail: 'conversations of AI SDK clients', href: '/activity/chats' },
  { kind: 'page', title: 'Metrics', detail: 'charts of calls and runs', href: '/activity/metrics' },
  { kind: 'page', title: 'Costs', detail: 'spending and budgets', href: '/activity/costs' },
  { kind: 'page', title: 'Objectives', detail: 'service levels', href: '/activity/objectives' },
  { kind: 'page', title: 'Connections and limits', detail: 'MCP servers', href: '/activity/connections' },
  { kind: 'page', title: 'Views', detail: 'saved filters, pinned figures', href: '/activity/views' },
  { kind: 'page', title: 'Approvals', detail: 'calls that wait', href: '/approvals' },
  { kind: 'page', title: 'Settings', detail: 'keys, tenants and flags', href: '/settings' },
  { kind: 'page', title: 'Keyboard shortcuts', detail: 'help', href: SHORTCUTS_HASH },
]

/** What can be added. */
export const ADD_ENTRIES: readonly PaletteEntry[] = JOBS.map(({ id, title, about }) => ({
  kind: 'add',
  title,
  detail: about,
  href: `/setup/${id}`,
}))

export const toolEntry = ({ name, description }: PageTool): PaletteEntry => ({
  kind: 'tool',
  title: name,
  detail: description,
  href: `/tool/${encodeURIComponent(name)}`,
})

export const modelEntry = ({ id, name }: Pick<ListedModel, 'id' | 'name'>): PaletteEntry => ({
  kind: 'model',
  title: name,
  detail: `${id}, test it`,
  href: `/tools-testing?${new URLSearchParams({ model: id })}`,
})

export const viewEntry = ({ name, address }: Pick<SavedView, 'name' | 'address'>): PaletteEntry => ({
  kind: 'view',
  title: name,
  detail: viewText(address),
  href: address,
})

export const runEntry = ({ id, model, question, started_at, stop_reason }: ListedRun): PaletteEntry => ({
  kind: 'run',
  title: question === '' ? `Run ${id.slice(0, 8)}` : excerpt(question, MAX_TITLE),
  detail: `${id.slice(0, 8)}, ${model}, ${stop_reason}, ${inDate(started_at)}`,
  href: `/runs/${encodeURIComponent(id)}`,
})

const MOST_SHOWN = 50
/** Without a query, each kind shows a few. */
const FIRST = { page: 15, add: 5, tool: 8, model: 4, view: 4, thread: 4, run: 4 } as const

/** Finds entries, the best first. A title counts more than the details. */
export class PaletteIndex {
  readonly #entries: readonly PaletteEntry[]
  readonly #titles: FuzzyIndex<PaletteEntry>
  readonly #details: FuzzyIndex<PaletteEntry>

  constructor(entries: readonly PaletteEntry[]) {
    this.#entries = entries
    this.#titles = new FuzzyIndex(entries, ({ title }) => title)
    this.#details = new FuzzyIndex(entries, ({ kind, title, detail = '' }) => `${kind} ${title} ${detail}`)
  }

  find(query: string): PaletteEntry[] {
    if (query.trim() === '') {
      const left = { ...FIRST } as Record<PaletteEntry['kind'], number>
      return this.#entries.filter(({ kind }) => left[kind]-- > 0)
    }
    const byTitle = this.#titles.find(query)
    if (byTitle.length >= MOST_SHOWN) return byTitle.slice(0, MOST_SHOWN)
    return [...new Set([...byTitle, ...this.#details.find(query)])].slice(0, MOST_SHOWN)
  }
}
