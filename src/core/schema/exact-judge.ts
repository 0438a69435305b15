import { value as keywordValue, removeUriSchemePlugin } from '@hyperjump/browser'
import {
  registerSchema,
  type SchemaObject,
  setShouldValidateSchema,
  unregisterSchema,
  validate,
} from '@hyperjump/json-schema/draft-07'
import '@hyperjump/json-schema/draft-2020-12'
import { addKeyword, type Keyword } from '@hyperjump/json-schema/experimental'
import { value as instanceValue } from '@hyperjump/json-schema/instance/experimental'
import { hasFormat } from './formats.ts'
import { nativePattern } from './linear-pattern.ts'
import { isMultipleOf } from './multiple-of.ts'
import type { Draft } from './schema-draft.ts'
import type { Documents } from './schema-references.ts'

const DIALECTS: Readonly<Record<Draft, string>> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema',
}

// The library fetches what it does not know, over the network and from files: it must know no way to.
for (const scheme of ['http', 'https', 'file']) removeUriSchemePlugin(scheme)

// Schemas have been checked against their draft when they were compiled.
setShouldValidateSchema(false)

let assertFormats = true

const OWN_KEYWORDS: readonly Keyword<never>[] = [
  rule('draft-2020-12/format', (format: string, value) => !assertFormats || hasFormat(value, format)),
  rule('draft-07/format', (format: string, value) => !assertFormats || hasFormat(value, format)),
  rule('multipleOf', (divisor: number, value) => typeof value !== 'number' || isMultipleOf(value, divisor)),
  rule('pattern', (source: string, value) => typeof value !== 'string' || nativePattern(source).test(value)),
]

/** What a schema is judged with besides itself. */
export interface JudgeOptions {
  readonly formats: boolean
  readonly documents: Documents
  /** A meta-schema among the documents that the schema is written in, instead of its draft's own. */
  readonly dialect?: string | undefined
}

let checks = 0

/**
 * Whether parameters satisfy a schema, to the letter of its draft. Only for a process that can be killed: a pattern
 * may backtrack for ever. Nothing of the schema stays behind.
 */
export async function judgeExactly(
  schema: unknown,
  params: unknown,
  draft: Draft,
  { formats, documents, dialect }: JudgeOptions,
): Promise<boolean> {
  const address = `https://schema.invalid/${checks++}`
  const registered: string[] = []
  // Also empties the library's table of unknown keywords, which otherwise grows with every new word.
  for (const keyword of OWN_KEYWORDS) addKeyword(keyword)
  try {
    for (const [uri, document] of documents) {
      registerSchema(document as SchemaObject, uri, DIALECTS[draft])
      registered.push(uri)
    }
    registerSchema(schema as SchemaObject, address, dialect ?? DIALECTS[draft])
    registered.push(address)
    const judge = await validate(address)
    assertFormats = formats
    return judge(params as SchemaObject).valid
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
