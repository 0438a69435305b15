import { hash } from 'node:crypto'
import { ownText } from './documents.ts'
import type { ApiOperation } from './operations.ts'

const MAX_NAME = 64
const MAX_READ = 256

interface Candidate {
  readonly operation: ApiOperation
  readonly name: string
  /** Whether the name is the unchanged operation id. */
  readonly exact: boolean
}

/**
 * Gives each operation a name that all models accept. It depends only on the operation, so it stays the same when
 * others change. If two operations share a name, both get a hash of method and path.
 */
export function toolNames(operations: readonly ApiOperation[], prefix: string): Map<ApiOperation, string> {
  const candidates = operations.map((operation) => candidate(operation, prefix))
  const groups = Map.groupBy(candidates, ({ name }) => name)
  const names = new Map<ApiOperation, string>()
  const taken = new Set<string>()
  const others: Candidate[] = []
  for (const [name, group] of groups) {
    const exact = group.filter((one) => one.exact)
    const keeper = group.length === 1 ? group[0] : exact.length === 1 ? exact[0] : undefined
    if (keeper !== undefined) {
      names.set(keeper.operation, name)
      taken.add(name)
    }
    others.push(...group.filter((one) => one !== keeper))
  }
  for (const { operation, name } of others.sort((one, other) =>
    keyOf(one.operation) < keyOf(other.operation) ? -1 : 1,
  )) {
    let length = 8
    while (taken.has(suffixed(name, operation, length))) length += 4
    names.set(operation, suffixed(name, operation, length))
    taken.add(suffixed(name, operation, length))
  }
  return names
}

function candidate(operation: ApiOperation, prefix: string): Candidate {
  const start = prefix === '' || /[_-]$/.test(prefix) ? prefix : `${prefix}_`
  const id = ownText(operation.operation.value, 'operationId')
  const fromId = id === undefined ? undefined : plainName(id)
  const { name, whole } = fromId ??
    plainName(`${operation.method.toLowerCase()} ${operation.path}`) ?? { name: '', whole: false }
  const full = start + name
  const isFit = whole && full.length <= MAX_NAME && name !== ''
  return { operation, name: isFit ? full : suffixed(full, operation, 8), exact: isFit && name === id }
}

/** Converts a text to a name, and returns whether all letters were kept; undefined if none were. */
function plainName(text: string): { readonly name: string; readonly whole: boolean } | undefined {
  const letters = withoutMarks(text.slice(0, MAX_READ))
  const name = letters.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^[_-]+|(?<![_-])[_-]+$/g, '')
  if (!/[A-Za-z0-9]/.test(name)) return undefined
  return { name, whole: text.length <= MAX_READ && !/[^\p{ASCII}]/u.test(letters.replace(/[^\p{L}\p{N}]/gu, '')) }
}

function suffixed(name: string, operation: ApiOperation, length: number): string {
  const suffix = shortHash(keyOf(operation), length)
  const start = name.slice(0, MAX_NAME - suffix.length - 1).replace(/(?<![_-])[_-]+$/, '')
  return start === '' ? suffix : `${start}_${suffix}`
}

const keyOf = ({ method, path }: ApiOperation): string => `${method} ${path}`

/** A short, stable hash. */
export function shortHash(text: string, length = 8): string {
  return hash('sha256', text.toWellFormed()).slice(0, length)
}

/** Removes accents: `é` becomes `e`. */
export const withoutMarks = (text: string): string => text.normalize('NFKD').replace(/\p{M}+/gu, '')
