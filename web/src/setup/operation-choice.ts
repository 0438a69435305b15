import { FuzzyIndex } from '../parts/fuzzy.ts'

/** An operation of an OpenAPI document that can become a tool. */
export interface Operation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly summary: string
  /** Null if it can't become a tool. */
  readonly effect: 'read' | 'idempotent' | 'write' | null
  readonly deprecated: boolean
  /** Why it can't become a tool. */
  readonly problem?: string
}

export type Chosen = ReadonlySet<string>

export const operationIndex = (operations: readonly Operation[]): FuzzyIndex<Operation> =>
  new FuzzyIndex(operations, ({ name, method, path, summary }) => `${name} ${method} ${path} ${summary}`)

/** Chooses an operation, or no longer. */
export function toggled(chosen: Chosen, name: string): Chosen {
  const next = new Set(chosen)
  if (!next.delete(name)) next.add(name)
  return next
}

/** Adds the shown operations that can become tools; with `reads`, only those that change nothing. */
export const withShown = (chosen: Chosen, shown: readonly Operation[], reads: boolean): Chosen =>
  new Set([
    ...chosen,
    ...shown
      .filter(
        ({ problem, effect, deprecated }) => problem === undefined && !deprecated && (!reads || effect === 'read'),
      )
      .map(({ name }) => name),
  ])

export function withoutShown(chosen: Chosen, shown: readonly Operation[]): Chosen {
  const next = new Set(chosen)
  for (const { name } of shown) next.delete(name)
  return next
}

/** The chosen names in the order of the document. */
export const chosenNames = (operations: readonly Operation[], chosen: Chosen): string[] =>
  operations.filter(({ name }) => chosen.has(name)).map(({ name }) => name)
