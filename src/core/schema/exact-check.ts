import { value as keywordValue, removeUriSchemePlugin } from '@hyperjump/browser'
import {
  registerSchema,
  type SchemaObject,
  setShouldValidateSchema,
  unregisterSchema,
  validate,
} from '@hyperjump/json-schema/draft-07'
import type { HandlerContext } from '../handler.ts'
import type { CompileOptions } from './compiled-schema.ts'
import { explainParams, UNEXPLAINED } from './explain-params.ts'
import type { Explained } from './explanation.ts'
import { nativePattern } from './linear-pattern.ts'
import { normaliseSchema } from './normalise-schema.ts'
import { APPLICATORS, type Draft, isObject, schemaDraft, schemasUnder } from './schema-keywords.ts'
import { type Documents, RefusedSchemaError, SchemaReferences } from './schema-references.ts'
import '@hyperjump/json-schema/draft-2020-12'
import { addKeyword, type Keyword } from '@hyperjump/json-schema/experimental'
import { value as instanceValue } from '@hyperjump/json-schema/instance/experimental'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isMultipleOf } from '../json/json-type.ts'
import { hasFormat } from './formats.ts'

const DIALECTS: Readonly<Record<Draft, string>> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema',
}

// The library must not fetch unknown schemas from the network or from files.
for (const scheme of ['http', 'https', 'file']) removeUriSchemePlugin(scheme)

// Schemas were checked against their draft at compilation.
setShouldValidateSchema(false)

let assertFormats = true

const OWN_KEYWORDS: readonly Keyword<never>[] = [
  rule('draft-2020-12/format', (format: string, value) => !assertFormats || hasFormat(value, format)),
  rule('draft-07/format', (format: string, value) => !assertFormats || hasFormat(value, format)),
  rule('multipleOf', (divisor: number, value) => typeof value !== 'number' || isMultipleOf(value, divisor)),
  rule('pattern', (source: string, value) => typeof value !== 'string' || nativePattern(source).test(value)),
]

interface CheckOptions {
  readonly formats: boolean
  readonly documents: Documents
  /** A meta-schema among the documents, instead of that of the draft. */
  readonly dialect?: string | undefined
}

let checks = 0

/**
 * Whether parameters satisfy a schema, exactly by its draft. Only for a process that can be killed, because a pattern
 * may backtrack forever. Leaves nothing behind in the library.
 */
async function isValid(
  schema: unknown,
  params: unknown,
  draft: Draft,
  { formats, documents, dialect }: CheckOptions,
): Promise<boolean> {
  const address = `https://schema.invalid/${checks++}`
  const registered: string[] = []
  // Also clears the library's table of unknown keywords, which grows without bound.
  for (const keyword of OWN_KEYWORDS) addKeyword(keyword)
  try {
    for (const [uri, document] of documents) {
      registerSchema(document as SchemaObject, uri, DIALECTS[draft])
      registered.push(uri)
    }
    registerSchema(schema as SchemaObject, address, dialect ?? DIALECTS[draft])
    registered.push(address)
    const check = await validate(address)
    assertFormats = formats
    return check(params as SchemaObject).valid
  } finally {
    for (const uri of registered) unregisterSchema(uri)
  }
}

function rule<A>(name: string, holds: (expected: A, value: unknown) => boolean): Keyword<never> {
  return {
    id: `https://json-schema.org/keyword/${name}`,
    compile: async (schema) => keywordValue<never>(schema),
    interpret: (expected, instance) => holds(expected as A, instanceValue(instance)),
  }
}

/** The meta-schemas by address. A tool that takes a schema as a parameter refers to them. */
function metaSchemas(): Documents {
  const known = [new Ajv(), new Ajv2020()].flatMap(({ schemas }) => Object.entries(schemas))
  return new Map(known.map(([address, environment]) => [address, environment?.schema]))
}

export interface ExactQuestion {
  readonly schema: unknown
  readonly params: unknown
}

let standard: Documents | undefined

/** Returns every problem, with the same messages as the inline path. Rejects if the schema can't be checked. */
export function exactCheck(question: ExactQuestion, _context?: HandlerContext): Promise<Explained[]> {
  return exactCheckWith(question, {})
}

export async function exactCheckWith(
  { schema: written, params }: ExactQuestion,
  { draft: given, formats = true, documents = new Map() }: CompileOptions,
): Promise<Explained[]> {
  const schema = structuredClone(written)
  const draft = given ?? schemaDraft(schema)
  const named = isObject(schema) && typeof schema.$schema === 'string' ? schema.$schema : undefined
  const dialect = named !== undefined && documents.has(named) ? named : undefined
  normaliseSchema(schema, draft)
  straightenReferences(schema)
  refuseDialects(schema)
  try {
    if (await isValid(schema, params, draft, { formats, documents, dialect })) return []
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
  } catch (error) {
    throw new RefusedSchemaError(`cannot be validated: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof RangeError) return 'its references lead too deep'
  // The rest of the message contains internal addresses.
  return error instanceof Error ? error.message.split('. ', 1)[0] : 'unknown reason'
}

/** An object with `$id` and `$vocabulary` would define a dialect for all later checks. */
function refuseDialects(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (isObject(value) && typeof value.$id === 'string' && isObject(value.$vocabulary)) {
    throw new RefusedSchemaError('"$vocabulary" is not allowed')
  }
  for (const inner of Object.values(value)) refuseDialects(inner)
}

/**
 * Rewrites each `$ref` through a schema with its own `$id` to start there: `#/definitions/a/definitions/b` becomes
 * `a.json#/definitions/b`. Draft-07 allows such pointers, but the library doesn't support them.
 */
function straightenReferences(schema: unknown, root = schema): void {
  if (!isObject(schema)) return
  if (typeof schema.$ref === 'string' && schema.$ref.startsWith('#/')) schema.$ref = straight(schema.$ref, root)
  for (const key of Object.keys(schema)) {
    const applicator = APPLICATORS.get(key)
    if (applicator === undefined) continue
    for (const [inner] of schemasUnder(applicator.shape, schema[key])) {
      // Inside a schema with an `$id`, pointers start there.
      const own = isObject(inner) && typeof inner.$id === 'string' && !inner.$id.startsWith('#')
      straightenReferences(inner, own ? inner : root)
    }
  }
}

function straight(reference: string, root: unknown): string {
  const tokens = reference.slice(2).split('/')
  let value = root
  let prefix = ''
  let from = 0
  for (const [at, token] of tokens.entries()) {
    const key = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return reference
    value = (value as Record<string, unknown>)[key]
    if (at < tokens.length - 1 && isObject(value) && typeof value.$id === 'string' && !value.$id.includes('#')) {
      prefix = prefix === '' ? value.$id : new URL(value.$id, new URL(prefix, 'https://schema.invalid/')).href
      from = at + 1
    }
  }
  return prefix === '' ? reference : `${prefix}#/${tokens.slice(from).join('/')}`
}
