import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { Losses } from './losses.ts'

/**
 * Leaves out the parameters whose names the provider refuses. Throws where the tool cannot do without: renamed, they
 * would have to be named back in every call.
 */
export function fitParameterNames(root: JsonSchema, pattern: RegExp, losses: Losses): JsonSchema {
  const entries = Object.entries((root.properties ?? {}) as JsonSchema)
  const unfit = entries.map(([name]) => name).filter((name) => !pattern.test(name))
  if (unfit.length === 0) return root
  const required = (root.required ?? []) as string[]
  for (const name of unfit) {
    if (required.includes(name)) {
      throw new RefusedSchemaError(`requires the parameter ${JSON.stringify(name)}, a name that the provider refuses`)
    }
    losses.add(`properties.${name}`, 'properties')
  }
  return { ...root, properties: Object.fromEntries(entries.filter(([name]) => !unfit.includes(name))) }
}
