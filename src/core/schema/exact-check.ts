import type { HandlerContext } from '../handler.ts'
import { judgeExactly } from './exact-judge.ts'
import { explainParams, UNEXPLAINED } from './explain-params.ts'
import type { Explained } from './explained.ts'
import { nativePattern } from './linear-pattern.ts'
import { metaSchemas } from './meta-schemas.ts'
import { normaliseSchema } from './normalise-schema.ts'
import { RefusedSchemaError } from './refused-schema-error.ts'
import { type Draft, schemaDraft } from './schema-draft.ts'
import { isObject } from './schema-keywords.ts'
import { type Documents, SchemaReferences } from './schema-references.ts'
import { straightenReferences } from './straighten-references.ts'

/** What the exact validator is asked. */
export interface ExactQuestion {
  readonly schema: unknown
  readonly params: unknown
}

/** For the test suite of the drafts: the draft, `format` as a remark only, and documents that references may lead to. */
export interface ExactOptions {
  readonly draft?: Draft
  readonly formats?: boolean
  readonly documents?: Documents
}

let standard: Documents | undefined

/**
 * Every problem of the parameters, none where they are valid; the words are those of the ordinary path. Runs in a
 * process that can be killed, as any isolated handler. Rejects where the schema cannot be judged.
 */
export function exactCheck(question: ExactQuestion, _context?: HandlerContext): Promise<Explained[]> {
  return exactCheckWith(question, {})
}

/** The same with options. */
export async function exactCheckWith(
  { schema: written, params }: ExactQuestion,
  { draft: given, formats = true, documents = new Map() }: ExactOptions,
): Promise<Explained[]> {
  const schema = structuredClone(written)
  const draft = given ?? schemaDraft(schema)
  const named = isObject(schema) && typeof schema.$schema === 'string' ? schema.$schema : undefined
  const dialect = named !== undefined && documents.has(named) ? named : undefined
  normaliseSchema(schema, draft)
  straightenReferences(schema)
  refuseDialects(schema)
  try {
    if (await judgeExactly(schema, params, draft, { formats, documents, dialect })) return []
  } catch (error) {
    // The rest of what the library says are addresses that we made up.
    const reason = error instanceof Error ? error.message.split('. ', 1)[0] : 'unknown reason'
    throw new RefusedSchemaError(`cannot be judged: ${reason}`, { cause: error })
  }
  standard ??= metaSchemas()
  const references = new SchemaReferences(schema, new Map([...standard, ...documents]))
  const patterns = new Map<string, RegExp>()
  const pattern = (source: string) => {
    const known = patterns.get(source) ?? nativePattern(source)
    patterns.set(source, known)
    return known
  }
  const problems = explainParams(schema, params, { references, draft07: draft === 'draft-07', formats, pattern })
  return problems.length > 0 ? problems : [UNEXPLAINED]
}

/** With `$id` and `$vocabulary` together, any object would define a draft for all who come later. */
function refuseDialects(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (isObject(value) && typeof value.$id === 'string' && isObject(value.$vocabulary)) {
    throw new RefusedSchemaError('"$vocabulary" is not allowed')
  }
  for (const inner of Object.values(value)) refuseDialects(inner)
}
