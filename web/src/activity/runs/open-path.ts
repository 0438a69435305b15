import type { Filters } from '../list-view.ts'

export const MAX_SHOWN = 20

/** Null if a filter is set that runs in progress don't have. */
export function openPath({ model = '', caller = '', tenant = '', ...others }: Filters): string | null {
  if (Object.keys(others).length > 0) return null
  const query = new URLSearchParams({ status: 'open', limit: String(MAX_SHOWN) })
  for (const [name, value] of Object.entries({ model, caller, tenant })) if (value !== '') query.set(name, value)
  return `/api/runs?${query}`
}
