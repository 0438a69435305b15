import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Documents } from './schema-references.ts'

/** The schemas of the drafts themselves, by address: a tool that takes a schema as a parameter refers to them. */
export function metaSchemas(): Documents {
  const known = [new Ajv(), new Ajv2020()].flatMap(({ schemas }) => Object.entries(schemas))
  return new Map(known.map(([address, environment]) => [address, environment?.schema]))
}
