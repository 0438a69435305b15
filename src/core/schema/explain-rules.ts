import { hasUniqueItems } from './canonical-text.ts'
import { type Explanation, report } from './explanation.ts'
import { hasFormat } from './formats.ts'
import { hasType } from './json-type.ts'
import { isMultipleOf } from './multiple-of.ts'
import { sameJson } from './same-json.ts'
import { isObject } from './schema-keywords.ts'
import type { ValuePath } from './value-path.ts'

type Check = (value: never, expected: never, at: Explanation) => boolean

const ANY: Readonly<Record<string, (value: unknown, expected: unknown, at: Explanation) => boolean>> = {
  type: (value, types) => (Array.isArray(types) ? types : [types]).some((type) => hasType(value, type)),
  enum: (value, values) => Array.isArray(values) && values.some((each) => sameJson(value, each)),
  const: (value, expected) => sameJson(value, expected),
  format: (value, format, at) => !at.options.formats || hasFormat(value, format),
}

const NUMBER: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  minimum: (value, bound) => value >= bound,
  maximum: (value, bound) => value <= bound,
  exclusiveMinimum: (value, bound) => value > bound,
  exclusiveMaximum: (value, bound) => value < bound,
  multipleOf: isMultipleOf,
}

const STRING: Readonly<Record<string, (value: string, expected: never, at: Explanation) => boolean>> = {
  minLength: (value, bound: number) => lengthOf(value) >= bound,
  maxLength: (value, bound: number) => lengthOf(value) <= bound,
  pattern: (value, source: string, at) => at.options.pattern(source).test(value),
}

const ARRAY: Readonly<Record<string, (value: unknown[], expected: number | boolean) => boolean>> = {
  minItems: (value, bound) => value.length >= Number(bound),
  maxItems: (value, bound) => value.length <= Number(bound),
  uniqueItems: (value, expected) => expected !== true || hasUniqueItems(value),
}

const OBJECT: Readonly<Record<string, (value: object, bound: number) => boolean>> = {
  minProperties: (value, bound) => Object.keys(value).length >= bound,
  maxProperties: (value, bound) => Object.keys(value).length <= bound,
}

/** Adds the problems of a value with the rules that need no other schema. */
export function explainRules(
  schema: Record<string, unknown>,
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
): void {
  apply(ANY)
  if (typeof value === 'number') apply(NUMBER)
  else if (typeof value === 'string') apply(STRING)
  else if (Array.isArray(value)) apply(ARRAY)
  else if (isObject(value)) apply(OBJECT)

  function apply(rules: Readonly<Record<string, Check>>): void {
    for (const rule in rules) {
      if (!Object.hasOwn(schema, rule)) continue
      const expected = schema[rule]
      if (!rules[rule]?.(value as never, expected as never, at)) report(at, path, rule, expected)
    }
  }
}

/** Length in characters, not in the halves that JavaScript counts. */
function lengthOf(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if ((text.codePointAt(at) as number) > 0xffff) {
      length--
      at++
    }
  }
  return length
}
