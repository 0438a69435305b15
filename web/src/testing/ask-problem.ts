import type { Thread } from './threads.ts'

const MISSING = 'Please enter a test query and select a model'

/** Why a question can't be asked yet, in sentences; undefined if it can. */
export function askProblem(query: string, models: readonly (string | null)[]): readonly string[] | undefined {
  const hasQuery = query.trim() !== ''
  const hasModel = models.some((model) => model !== null)
  if (!hasQuery && !hasModel) return [MISSING]
  if (!hasQuery) return [MISSING, 'The query is missing.']
  if (!hasModel) return [MISSING, 'The model is missing.']
  const empty = models.indexOf(null)
  if (empty === -1) return undefined
  const field = empty === 0 ? 'Select Model' : `Compare with (${empty + 1})`
  return [`“${field}” is empty. Select a model there, or remove a field.`]
}

/** The model of the newest thread, if it can be used. */
export const lastModel = (
  threads: readonly Pick<Thread, 'updatedAt' | 'settings'>[],
  usable: ReadonlySet<string>,
): string | null => {
  const newest = threads
    .toSorted((a, b) => b.updatedAt - a.updatedAt)
    .flatMap(({ settings }) => settings.models[0] ?? [])
  return newest.find((model) => usable.has(model)) ?? null
}
