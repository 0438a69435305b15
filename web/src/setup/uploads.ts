import { inBytes } from '../parts/figures.ts'

/** A file on its way into a collection. */
export interface Upload {
  readonly name: string
  readonly size: number
  readonly state: 'waiting' | 'sending' | 'stored' | 'failed'
  readonly chunks?: number
  readonly problem?: string
  readonly warnings?: readonly string[]
}

/** The server takes no larger files. */
export const MOST_BYTES = 8_000_000

/** Adds files. A file replaces one with the same name, unless that one is being sent. */
export function withFiles(
  uploads: readonly Upload[],
  files: readonly { readonly name: string; readonly size: number }[],
): readonly Upload[] {
  const byName = new Map(uploads.map((one) => [one.name, one]))
  for (const { name, size } of files) {
    if (byName.get(name)?.state !== 'sending') byName.set(name, newUpload(name, size))
  }
  return [...byName.values()]
}

function newUpload(name: string, size: number): Upload {
  if (size > MOST_BYTES) {
    const problem = `The file has ${inBytes(size)}, and the page takes up to ${inBytes(MOST_BYTES)}. Use "toolyard ingest" on the server.`
    return { name, size, state: 'failed', problem }
  }
  return size === 0 ? { name, size, state: 'failed', problem: 'The file is empty.' } : { name, size, state: 'waiting' }
}

/** Changes one file. */
export const withUpload = (uploads: readonly Upload[], name: string, change: Partial<Upload>): readonly Upload[] =>
  uploads.map((one) => (one.name === name ? { ...one, ...change } : one))

export const withoutUpload = (uploads: readonly Upload[], name: string): readonly Upload[] =>
  uploads.filter((one) => one.name !== name)

export const nextUpload = (uploads: readonly Upload[]): Upload | undefined =>
  uploads.find(({ state }) => state === 'waiting')

export function totals(uploads: readonly Upload[]) {
  const of = (state: Upload['state']) => uploads.filter((one) => one.state === state).length
  return { waiting: of('waiting'), sending: of('sending'), stored: of('stored'), failed: of('failed') }
}

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,56}$/

/** Why a collection can't have this name, if it can't. */
export const collectionProblem = (name: string): string | undefined =>
  NAME.test(name) ? undefined : 'Start with a letter, then use letters, digits, "_" and "-".'
