import { RESULT, viewOf } from '../../core/execution/tool-view.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { ToolDefinition } from '../../core/tool.ts'

/** Tools that don't fit are listed by name. */
const MAX_CHARACTERS = 16_384
const MAX_NAMES_CHARACTERS = 4_096
const MAX_DESCRIPTION = 300
const MAX_NOTE = 120
const MAX_DEPTH = 6
/** A schema that refers to itself has many more types than it has lines: a tool with more is listed by name. */
const MAX_TYPES = 2_000
const MAX_LITERALS = 20
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

class TooManyTypes extends Error {}

/** Every list of tools needs them. */
const known = new WeakMap<ToolDefinition, string>()

/** TypeScript declarations of tools, made from their schemas. */
export function declarations(tools: readonly ToolDefinition[]): string {
  const lines: string[] = []
  const others: string[] = []
  let room = MAX_CHARACTERS
  for (const tool of tools) {
    const line = known.get(tool) ?? declaration(tool)
    known.set(tool, line)
    if (line === '' || line.length > room) others.push(keyOf(tool.name))
    else {
      lines.push(line)
      room -= line.length + 1
    }
  }
  return ['declare const tools: {', ...lines, ...namesOf(others), '}'].join('\n')
}

/** `tools["a-b"]`, but `tools.a_b`. */
const keyOf = (name: string): string => (IDENTIFIER.test(name) ? name : JSON.stringify(name))

/** Empty if the tool has too many types. */
function declaration(tool: ToolDefinition): string {
  const { name, description, parameters } = tool
  const result = viewOf(tool)[RESULT]?.schema
  const { required = [] } = parameters as { required?: readonly string[] }
  try {
    const params = `params${required.length === 0 ? '?' : ''}: ${new Types(parameters).of(parameters)}`
    const returned = result === undefined ? 'unknown' : new Types(result).of(result)
    return `  /** ${comment(description, MAX_DESCRIPTION)} */\n  ${keyOf(name)}(${params}): Promise<${returned}>`
  } catch (error) {
    if (!(error instanceof TooManyTypes)) throw error
    return ''
  }
}

function namesOf(names: readonly string[]): string[] {
  if (names.length === 0) return []
  let room = MAX_NAMES_CHARACTERS
  const shown = names.filter((name) => {
    room -= name.length + 2
    return room > 0
  })
  const rest = names.length - shown.length
  return [`  // Without parameters here: ${shown.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`]
}

function comment(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()
  return line.length > most ? `${line.slice(0, most)}…` : line
}

/** Writes the types of one schema. What TypeScript can't express is left out: the tool checks its parameters. */
class Types {
  readonly #references: SchemaReferences
  #left = MAX_TYPES

  constructor(root: unknown) {
    this.#references = new SchemaReferences(root)
  }

  of(schema: unknown, depth = 0): string {
    if (--this.#left < 0) throw new TooManyTypes()
    if (schema === false) return 'never'
    if (!isObject(schema) || depth > MAX_DEPTH) return 'unknown'
    const { $ref, enum: literals, anyOf, oneOf = anyOf, allOf, type } = schema
    if ($ref !== undefined) return this.of(this.#references.target(schema, $ref), depth + 1)
    if ('const' in schema) return JSON.stringify(schema.const) ?? 'unknown'
    if (Array.isArray(literals) && literals.length <= MAX_LITERALS)
      return union(literals.map((one) => JSON.stringify(one)))
    if (Array.isArray(oneOf)) return union(oneOf.map((one) => this.of(one, depth + 1)))
    if (Array.isArray(allOf) && schema.properties === undefined) {
      return allOf.map((one) => grouped(this.of(one, depth + 1))).join(' & ')
    }
    if (Array.isArray(type)) return union(type.map((one) => this.#typed(one, schema, depth)))
    return this.#typed(type ?? (schema.properties === undefined ? undefined : 'object'), schema, depth)
  }

  #typed(type: unknown, schema: Readonly<Record<string, unknown>>, depth: number): string {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'number':
      case 'null':
        return type
      case 'integer':
        return 'number'
      case 'array':
        return `${grouped(this.of(schema.items, depth + 1))}[]`
      case 'object':
        return this.#object(schema, depth)
      default:
        return 'unknown'
    }
  }

  #object({ properties, required, additionalProperties }: Readonly<Record<string, unknown>>, depth: number): string {
    const needed: readonly unknown[] = Array.isArray(required) ? required : []
    const members = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
      const note = isObject(schema) && typeof schema.description === 'string' && comment(schema.description, MAX_NOTE)
      const type = this.of(schema, depth + 1)
      return `${keyOf(name)}${needed.includes(name) ? '' : '?'}: ${type}${note ? ` /* ${note} */` : ''}`
    })
    if (members.length > 0) return `{ ${members.join('; ')} }`
    return additionalProperties === false ? '{}' : `Record<string, ${this.of(additionalProperties, depth + 1)}>`
  }
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ') || 'never'

const grouped = (type: string): string => (/ [|&] /.test(type) ? `(${type})` : type)
