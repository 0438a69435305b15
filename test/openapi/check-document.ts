import { hash } from 'node:crypto'
import { readOpenapi } from '../../src/cli/commands/import/read-openapi.ts'
import { NotInDocument, OpenapiError } from '../../src/openapi/documents.ts'
import { type ImportOptions, type ImportReport, importOpenapi } from '../../src/openapi/import-openapi.ts'
import { asSwagger } from './as-swagger.ts'
import type { CallSession } from './call-session.ts'
import { checkCall, checkServer } from './check-call.ts'
import { checkDefinitions } from './check-definitions.ts'
import { branchAt, DocumentTree } from './document-tree.ts'
import { readStatedRequest } from './read-stated-request.ts'
import type { RealDocument } from './real-documents.ts'
import { type StatedOperation, statedOperations } from './stated-operations.ts'

/** What was found about one document. */
export interface DocumentFinding {
  readonly name: string
  readonly isRewritten: boolean
  /** Why it is no document, where it is none. */
  readonly unreadable?: string
  readonly found: number
  readonly mapped: number
  readonly refused: readonly string[]
  readonly notes: readonly string[]
  readonly calls: number
  /** Operations for whose tools no parameters were found. */
  readonly withoutParams: readonly string[]
  readonly violations: readonly string[]
}

/** One operation in so many is called, but of a large document only so many. */
const ONE_IN = 20
const MOST_CALLS = 10

/** What tools can send. */
const CALLED = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Imports a document in several ways, checks every definition, and calls some. */
export async function checkDocument(real: RealDocument, session: CallSession): Promise<DocumentFinding> {
  const { name, asSwagger: isRewritten } = real
  const nothing = {
    name,
    isRewritten,
    found: 0,
    mapped: 0,
    refused: [],
    notes: [],
    calls: 0,
    withoutParams: [],
    violations: [],
  }
  try {
    const read = await readOpenapi(real.file, {}, new AbortController().signal)
    const document = isRewritten ? asSwagger(read.document) : read.document
    const { files } = read
    const { definitions, ...report } = importOpenapi(document, { files })
    const tree = new DocumentTree(document)
    const operations = statedOperations(tree)
    const violations = [...checkCounts(report, operations.length), ...(await checkDefinitions(definitions))]
    const reversed = { ...tree.root, paths: Object.fromEntries(Object.entries(branchAt(tree.root, 'paths')).reverse()) }
    const before = fingerprints({ definitions, ...report })
    violations.push(...checkSame(before, fingerprints(importOpenapi(reversed, { files }))))
    const called = await callSome(name, operations, document, { files }, tree, session)
    return {
      name,
      isRewritten,
      found: report.found,
      mapped: report.mapped,
      refused: report.refused.map(({ reason }) => reason),
      notes: report.notes.map(({ note }) => note),
      ...called,
      violations: [...violations, ...called.violations],
    }
  } catch (error) {
    const isKnown = error instanceof OpenapiError && !(error instanceof NotInDocument) && error.cause === undefined
    if (isKnown) return { ...nothing, unreadable: error.message }
    const { cause = error } = error as Error
    return { ...nothing, violations: [`the import threw: ${(cause as Error).stack}`] }
  }
}

function checkCounts(
  { found, mapped, refused, excluded }: Omit<ImportReport, 'definitions'>,
  stated: number,
): string[] {
  const problems: string[] = []
  if (found !== mapped + refused.length + excluded) {
    problems.push(`${found} operations are not ${mapped} mapped, ${refused.length} refused and ${excluded} excluded`)
  }
  if (found !== stated) problems.push(`${found} operations were found, and the document has ${stated}`)
  return problems
}

/** Each definition by its name, and what else the report says, all of it short. */
function fingerprints({ definitions, refused, notes, variables }: ImportReport): Map<string, string> {
  const lines = (list: readonly object[]): string =>
    hash('sha1', JSON.stringify(list.map((one) => JSON.stringify(one)).sort()))
  return new Map([
    ...definitions.map((tool) => [tool.name, hash('sha1', JSON.stringify(tool))] as const),
    ['the refused', lines(refused)],
    ['the notes', lines(notes)],
    ['the variables', JSON.stringify(variables)],
  ])
}

function checkSame(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const gone = [...before.keys()].filter((name) => !after.has(name))
  const changed = [...before].filter(([name, text]) => after.has(name) && after.get(name) !== text)
  return [
    ...gone.map((name) => `${name}: the name is another where the paths stand in another order`),
    ...changed.map(([name]) => `${name}: it is another where it is imported again, the paths in another order`),
  ]
}

async function callSome(
  document: string,
  operations: readonly StatedOperation[],
  value: unknown,
  options: ImportOptions,
  tree: DocumentTree,
  session: CallSession,
): Promise<Pick<DocumentFinding, 'calls' | 'withoutParams' | 'violations'>> {
  const wanted = Math.min(Math.ceil(operations.length / ONE_IN), MOST_CALLS)
  const order = operations
    .filter(({ method }) => CALLED.has(method))
    .map((operation) => ({ operation, rank: hash('sha1', `${document} ${operation.label}`) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
  const violations: string[] = []
  const withoutParams: string[] = []
  let calls = 0
  for (const { operation } of order.slice(0, wanted * 3)) {
    if (calls + withoutParams.length >= wanted) break
    const { definitions, notes } = importOpenapi(value, {
      ...options,
      include: [operation.label],
      baseUrl: session.server.url,
    })
    const [tool] = definitions
    if (tool === undefined) continue
    const { made, problems } = await checkCall(
      tool,
      operation,
      notes.map(({ note }) => note),
      tree,
      session,
    )
    if (made) calls++
    else if (problems.length === 0) withoutParams.push(operation.label)
    const [own] = importOpenapi(value, { ...options, include: [operation.label] }).definitions
    const elsewhere = own === undefined ? [] : checkServer(own, readStatedRequest(operation, tree))
    violations.push(...[...problems, ...elsewhere].map((problem) => `${operation.label}: ${problem}`))
  }
  return { calls, withoutParams, violations }
}
