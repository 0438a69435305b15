import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { SchemaReferences } from '../../../core/schema/schema-references.ts'

type Schema = Readonly<Record<string, unknown>>

/** References that lead to references end here. */
const MOST_PARTS = 50

/**
 * A schema with all that holds beside it: what it refers to, its `allOf`, and one form of each `anyOf` and `oneOf`,
 * which one being told by `variant`. Undefined where nothing fits it.
 */
export function mergedSchema(schema: unknown, references: SchemaReferences, variant: number): Schema | undefined {
  if (schema === true || schema === undefined) return {}
  if (!isObject(schema)) return undefined
  let merged: Schema = {}
  const parts: unknown[] = [schema]
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]
    if (at > MOST_PARTS || part === false) return undefined
    if (!isObject(part)) continue
    merged = merge(merged, part)
    if (part.$ref !== undefined) parts.push(references.target(part, part.$ref) ?? false)
    if (Array.isArray(part.allOf)) parts.push(...part.allOf)
    for (const forms of [part.anyOf, part.oneOf]) {
      const useful = Array.isArray(forms) ? forms.filter((form) => !isObject(form) || form.type !== 'null') : []
      if (useful.length > 0) parts.push(useful[variant % useful.length])
    }
  }
  return merged
}

function merge(one: Schema, other: Schema): Schema {
  return {
    ...other,
    ...one,
    ...(isObject(one.properties) && isObject(other.properties)
      ? { properties: { ...other.properties, ...one.properties } }
      : undefined),
    ...(Array.isArray(one.required) && Array.isArray(other.required)
      ? { required: [...new Set([...one.required, ...other.required])] }
      : undefined),
  }
}
