import { SPANS } from './audit/audit-view.ts'

/** The filters of a list in the URL. */
export type Filters = Readonly<Record<string, string>>

/** Reads the known filters from the URL. Unknown time ranges are ignored. */
export function filtersOf(params: URLSearchParams, names: readonly string[]): Filters {
  const found = [...names, 'last'].flatMap((name) => {
    const value = params.get(name)
    return value && (name !== 'last' || Object.hasOwn(SPANS, value)) ? [[name, value] as const] : []
  })
  return Object.fromEntries(found)
}

/** The URL of an endpoint for these filters at the time `at`. */
export function listPath(path: string, { last = '', ...filters }: Filters, at: number, more: Filters = {}): string {
  const query = new URLSearchParams({ ...filters, ...more })
  const span = SPANS[last]
  if (span !== undefined) query.set('from', new Date(at - span.ms).toISOString())
  return `${path}?${query}`
}
