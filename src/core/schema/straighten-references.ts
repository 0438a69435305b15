import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'

/**
 * Rewrites, in place, each `$ref` whose pointer runs through a schema with an address of its own, so that it starts
 * there: `#/definitions/a/definitions/b` becomes `a.json#/definitions/b`. Draft-07 allows such pointers, the exact
 * validator does not know them.
 */
export function straightenReferences(schema: unknown, root = schema): void {
  if (!isObject(schema)) return
  if (typeof schema.$ref === 'string' && schema.$ref.startsWith('#/')) schema.$ref = straight(schema.$ref, root)
  for (const key of Object.keys(schema)) {
    const applicator = APPLICATORS.get(key)
    if (applicator === undefined) continue
    for (const [inner] of schemasUnder(applicator.shape, schema[key])) {
      // Inside a schema with an address, pointers start from it.
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
