import { queryOptions } from '@tanstack/react-query'
import { requestJson } from '../api/request.ts'

/** What the page can change on this server, and why not. */
export interface SetupState {
  /** The name of the configuration file. */
  readonly file: string | null
  /** The first change creates the file. */
  readonly creates?: boolean
  readonly writable: boolean
  readonly reason?: string
  readonly secrets: { readonly enabled: boolean; readonly reason?: string; readonly names: readonly string[] }
  /** The environment variables that a change may name; with `any`, all but a few. */
  readonly variables: { readonly any: boolean; readonly names: readonly string[] }
  readonly commands: { readonly allowed: boolean; readonly reason?: string }
}

/** A secret that a change refers to, and where. */
export interface NamedSecret {
  readonly name: string
  readonly place: string
}

export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => requestJson<SetupState>('/api/setup', { signal }),
})
