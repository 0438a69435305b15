import { createRequire } from 'node:module'
import type { Documents } from './schema-references.ts'

const FILES = [
  'json-schema-draft-07',
  'json-schema-2020-12/schema',
  ...['applicator', 'content', 'core', 'format-annotation', 'meta-data', 'unevaluated', 'validation'].map(
    (name) => `json-schema-2020-12/meta/${name}`,
  ),
]

/** The schemas of the drafts themselves, by address: a tool that takes a schema as a parameter refers to them. */
export function metaSchemas(): Documents {
  const require = createRequire(import.meta.url)
  return new Map(
    FILES.map((file) => {
      const schema = require(`ajv/dist/refs/${file}.json`) as { $id: string }
      return [schema.$id.replace(/#$/, ''), schema]
    }),
  )
}
