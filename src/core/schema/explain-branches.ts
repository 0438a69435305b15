import { explainChoice } from './explain-choice.ts'
import type { Explained } from './explained.ts'
import { type Explanation, join, type Looked, report } from './explanation.ts'
import { typesInWords } from './json-type.ts'
import { valuesInWords } from './problem-words.ts'
import { isObject } from './schema-keywords.ts'
import type { ValuePath } from './value-path.ts'

/** Adds the problems of a value with the schemas that judge it together: `allOf`, `anyOf`, `oneOf`, `not`, `if`. */
export function explainBranches(
  schema: Record<string, unknown>,
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  if (Array.isArray(schema.allOf)) {
    for (const branch of schema.allOf) join(looked, at.explain(branch, value, path, at))
  }
  for (const rule of ['anyOf', 'oneOf'] as const) {
    const branches = schema[rule]
    if (!Array.isArray(branches)) continue
    const failed: Explained[][] = []
    let matching = 0
    for (const branch of branches) {
      const own: Explanation = { ...at, problems: [] }
      const more = at.explain(branch, value, path, own)
      if (more === undefined) failed.push(own.problems)
      else if (++matching === 1 || rule === 'anyOf') join(looked, more)
    }
    if (matching === 0) explainChoice(rule, failed, value, path, at)
    else if (rule === 'oneOf' && matching > 1) {
      report(
        at,
        path,
        rule,
        branches.length,
        (text) => `${text} must have exactly one of ${branches.length} forms, but has ${matching}`,
      )
    }
  }
  if (Object.hasOwn(schema, 'not')) {
    if (at.explain(schema.not, value, path, { ...at, problems: [] }) !== undefined) reportNot(schema.not, path, at)
  }
  if (Object.hasOwn(schema, 'if')) {
    const matched = at.explain(schema.if, value, path, { ...at, problems: [] })
    join(looked, matched)
    const rule = matched === undefined ? 'else' : 'then'
    if (Object.hasOwn(schema, rule)) join(looked, at.explain(schema[rule], value, path, at))
  }
}

function reportNot(refused: unknown, path: ValuePath | undefined, at: Explanation): void {
  const only = isObject(refused) && Object.keys(refused).length === 1 ? refused : {}
  let words = 'has a form that is not allowed'
  if (only.type !== undefined) words = `must not be ${typesInWords([only.type].flat())}`
  else if (Array.isArray(only.enum)) words = `must not be one of: ${valuesInWords(only.enum)}`
  else if (Object.hasOwn(only, 'const')) words = `must not be ${valuesInWords([only.const])}`
  else if (Array.isArray(only.required)) words = `must not have ${valuesInWords(only.required)}`
  report(at, path, 'not', false, (text) => `${text} ${words}`)
}
