import type { CompiledSchema } from './schema-compiler.ts'

/** Validation that may take more steps blocks the process for too long. */
const MAX_INLINE_STEPS = 2_000_000

type Inline = CompiledSchema & { readonly check: NonNullable<CompiledSchema['check']> }

interface Size {
  readonly nodes: number
  readonly characters: number
}

const stepsOf = ({ cost, textCost }: CompiledSchema, { nodes, characters }: Size): number =>
  cost * nodes + textCost * characters

/** Whether this process may check values of this size. */
export const isInline = (schema: CompiledSchema, size: Size): schema is Inline =>
  schema.check !== undefined && stepsOf(schema, size) <= MAX_INLINE_STEPS

/** Whether this process may check this value, which is JSON. Stops counting when it is too large. */
export function isInlineFor(schema: CompiledSchema, value: unknown): schema is Inline {
  if (schema.check === undefined) return false
  const size = { nodes: 0, characters: 0 }
  const fits = (part: unknown): boolean => {
    size.nodes++
    if (typeof part === 'string') size.characters += part.length
    if (stepsOf(schema, size) > MAX_INLINE_STEPS) return false
    if (typeof part !== 'object' || part === null) return true
    for (const key in part) {
      size.characters += key.length
      if (!fits(part[key as keyof typeof part])) return false
    }
    return true
  }
  return fits(value)
}
