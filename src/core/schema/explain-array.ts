import { type Explanation, type Looked, report } from './explanation.ts'
import { counted } from './problem-words.ts'
import type { ValuePath } from './value-path.ts'

/** Adds the problems of an array's items, in their order. */
export function explainArray(
  schema: Record<string, unknown>,
  value: readonly unknown[],
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  const listed = Array.isArray(schema.prefixItems)
    ? schema.prefixItems
    : Array.isArray(schema.items)
      ? schema.items
      : []
  const rest = Array.isArray(schema.items) ? 'additionalItems' : 'items'
  const hasRest = Object.hasOwn(schema, rest)
  for (const [index, item] of value.entries()) {
    if (index >= listed.length && !hasRest) break
    looked.items.add(index)
    at.explain(index < listed.length ? listed[index] : schema[rest], item, { parent: path, step: index }, at)
  }
  if (Object.hasOwn(schema, 'contains')) explainContains(schema, value, path, at, looked)
}

function explainContains(
  schema: Record<string, unknown>,
  value: readonly unknown[],
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  let matching = 0
  for (const [index, item] of value.entries()) {
    if (at.explain(schema.contains, item, { parent: path, step: index }, { ...at, problems: [] }) === undefined)
      continue
    matching++
    if (!at.options.draft07) looked.items.add(index)
  }
  const least = !at.options.draft07 && typeof schema.minContains === 'number' ? schema.minContains : 1
  const most = !at.options.draft07 && typeof schema.maxContains === 'number' ? schema.maxContains : value.length
  if (matching < least) {
    const rule = least === 1 ? 'contains' : 'minContains'
    report(
      at,
      path,
      rule,
      least,
      (text) => `${text} must contain at least ${counted(least, 'item')} of the required form`,
    )
  } else if (matching > most) {
    report(
      at,
      path,
      'maxContains',
      most,
      (text) => `${text} must contain at most ${counted(most, 'item')} of the counted form`,
    )
  }
}
