import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import type { DialectSchema } from './dialect-schema.ts'
import { type FullRules, FullWriter } from './full-writer.ts'
import type { Losses } from './losses.ts'
import { rootObject } from './root-object.ts'
import { NotStrictError, StrictWriter } from './strict-writer.ts'

/** OpenAI reads patterns as Python does, and without looking around; such a pattern fails the whole request. */
const UNFIT_PATTERN = /\(\?[=!<]|\\(?:[pPck]|u\{)/

const RULES: FullRules = {
  refuses: (keyword, value) =>
    keyword === 'propertyNames' || (keyword === 'pattern' && UNFIT_PATTERN.test(String(value))),
  itemsRequired: true,
}

/** OpenAI: JSON Schema with an object at the root; in strict mode where that takes nothing away. */
export function openaiDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const { not, ...own } = root
  if (not !== undefined) losses.add('', 'not')
  const schema = new FullWriter(canonical.references, RULES, losses).root(own)
  const strict = words.length === 0 && losses.list.length === 0 ? strictSchema(schema, losses) : undefined
  return { schema: strict ?? { type: 'object', properties: {}, ...schema }, words, strict: strict !== undefined }
}

/** The schema for strict mode; undefined where that cannot say what the tool understands. */
function strictSchema(schema: JsonSchema, losses: Losses): JsonSchema | undefined {
  const writer = new StrictWriter()
  try {
    const { $defs, ...own } = schema
    const root = writer.write(own, '')
    const definitions = Object.entries(($defs ?? {}) as Record<string, JsonSchema>).map(([name, definition]) => {
      writer.count(name)
      return [name, writer.write(definition, `$defs.${name}`)]
    })
    losses.list.push(...writer.losses.list)
    return definitions.length === 0 ? root : { ...root, $defs: Object.fromEntries(definitions) }
  } catch (error) {
    if (error instanceof NotStrictError) return undefined
    throw error
  }
}
