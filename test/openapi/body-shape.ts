import { at, branchAt, type DocumentTree, isBranch, listAt, type Tree } from './document-tree.ts'

/** What a document says of a body that is an object. */
export interface BodyShape {
  /** Every key that any part of it names. */
  readonly names: ReadonlySet<string>
  /** The keys that a request must have. */
  readonly required: ReadonlySet<string>
  /** Whether it may have keys that are not named. */
  readonly open: boolean
}

const DEEPEST = 12

/** Reads a schema and all that judges the same value. */
export function bodyShape(schema: Tree, tree: DocumentTree): BodyShape {
  const names = new Set<string>()
  const required = new Set<string>()
  const answersOnly = new Set<string>()
  const state = { open: false }
  const visit = (written: Tree, certain: boolean, depth: number): void => {
    const value = tree.resolve(written)
    if (!isBranch(value) || depth > DEEPEST) return
    for (const [name, property] of Object.entries(branchAt(value, 'properties'))) {
      names.add(name)
      if (at(property, 'readOnly') === true || at(tree.resolve(property), 'readOnly') === true) answersOnly.add(name)
    }
    if (certain) for (const name of listAt(value, 'required')) required.add(String(name))
    const others = at(value, 'additionalProperties')
    if (others === true || isBranch(others) || isBranch(at(value, 'patternProperties'))) state.open = true
    for (const inner of listAt(value, 'allOf')) visit(inner, certain, depth + 1)
    for (const key of ['anyOf', 'oneOf']) for (const inner of listAt(value, key)) visit(inner, false, depth + 1)
  }
  visit(schema, true, 0)
  const wanted = [...required].filter((name) => names.has(name) && !answersOnly.has(name))
  return { names, required: new Set(wanted), open: state.open || names.size === 0 }
}
