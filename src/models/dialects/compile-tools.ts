import { createHash } from 'node:crypto'
import { langchainName } from '../../core/execution/tool-view.ts'
import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { OfferedTool } from '../model.ts'
import type { Dialect, Shapes, WireTool } from '../provider.ts'
import { type CanonicalSchema, canonicalSchema } from './canonical-schema.ts'
import { FullWriter } from './full-writer.ts'
import { typesOf } from './intersect-schemas.ts'
import { type DialectSchema, type DialectWriter, type Loss, Losses, withWords } from './losses.ts'
import { geminiDialect, openaiDialect } from './provider-dialects.ts'
import { fitParameterNames, rootObject } from './root-object.ts'
import { type SubsetRules, SubsetWriter } from './subset-writer.ts'

interface NameRule {
  readonly pattern: RegExp
  readonly unfit: RegExp
  readonly longest: number
}

const WORD: NameRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, unfit: /[^a-zA-Z0-9_-]/g, longest: 64 }

const RULES: Readonly<Record<Exclude<Dialect, 'plain'>, NameRule>> = {
  openai: WORD,
  anthropic: { pattern: /^[a-zA-Z0-9_-]{1,128}$/, unfit: /[^a-zA-Z0-9_-]/g, longest: 128 },
  gemini: { pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, unfit: /[^a-zA-Z0-9_.-]/g, longest: 64 },
  // Ollama accepts any name, but models were trained on names like OpenAI's.
  ollama: WORD,
}

/**
 * Maps tool names to names that the provider accepts. Accepted names never change; others depend on the other tools
 * only if two would collide.
 */
export class WireNames {
  readonly #rule: NameRule | undefined
  readonly #wire = new Map<string, string>()
  readonly #tool = new Map<string, string>()

  /** `preferred` has other names for some tools, which they get if these fit and no other tool has or prefers them. */
  constructor(names: Iterable<string>, dialect: Dialect, preferred: ReadonlyMap<string, string> = new Map()) {
    this.#rule = dialect === 'plain' ? undefined : RULES[dialect]
    if (this.#rule === undefined) return
    const { pattern } = this.#rule
    const given = new Set(names)
    const claims = Map.groupBy(preferred, ([, alias]) => alias)
    for (const [alias, [first, ...others]] of claims) {
      const isFree = pattern.test(alias) && !given.has(alias) && others.length === 0
      if (first !== undefined && isFree) this.#set(first[0], alias)
    }
    const all = [...given].filter((name) => !this.#wire.has(name))
    for (const name of all) if (pattern.test(name)) this.#set(name, name)
    const rest = all.filter((name) => !pattern.test(name)).sort()
    const wanted = Map.groupBy(rest, (name) => this.#fitted(name))
    for (const [fitted, claimants] of wanted) {
      const alone = claimants.length === 1 && !this.#tool.has(fitted)
      for (const name of claimants) this.#set(name, alone ? fitted : this.#marked(name, fitted))
    }
  }

  /** Also works for tools that are no longer offered. */
  wireName(name: string): string {
    const known = this.#wire.get(name)
    if (known !== undefined) return known
    if (this.#rule === undefined || this.#rule.pattern.test(name)) return name
    const fitted = this.#fitted(name)
    return this.#tool.has(fitted) ? this.#marked(name, fitted) : fitted
  }

  /** Unknown names stay as they are. */
  toolName(wireName: string): string {
    return this.#tool.get(wireName) ?? wireName
  }

  #set(name: string, wireName: string): void {
    this.#wire.set(name, wireName)
    this.#tool.set(wireName, name)
  }

  #fitted(name: string): string {
    const { pattern, unfit, longest } = this.#rule ?? WORD
    const legal = name.replaceAll(unfit, '_')
    const begun = legal === '' || !pattern.test(legal.slice(0, 1)) ? `_${legal}` : legal
    return begun.length > longest ? this.#marked(name, begun) : begun
  }

  /** Appends part of a hash to avoid a collision. */
  #marked(name: string, fitted: string): string {
    const { longest } = this.#rule ?? WORD
    for (let round = 0; ; round++) {
      const text = round === 0 ? name : `${name} ${round}`
      const marked = `${fitted.slice(0, longest - 9)}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
      if (!this.#tool.has(marked)) return marked
    }
  }
}

/** The names that LangChain prefers, by tool. */
function aliasesOf(tools: readonly OfferedTool[]): Map<string, string> {
  const aliases = tools.flatMap((tool) => {
    const alias = langchainName(tool)
    return alias === undefined || alias === tool.name ? [] : [[tool.name, alias] as const]
  })
  return new Map(aliases)
}

/** Ollama ignores all other keywords. */
const OLLAMA_RULES: SubsetRules = {
  keywords: new Set(['anyOf', 'description', 'enum', 'items', 'properties', 'required', 'type']),

  shape({ schema, drop, weaken }) {
    if (Array.isArray(schema.enum) && schema.enum.length === 0) drop('enum')
    const { prefixItems } = schema
    if (Array.isArray(prefixItems)) {
      const rest = schema.items === undefined || typeof schema.items === 'boolean' ? [] : [schema.items]
      const kinds = new Map([...prefixItems, ...rest].map((item) => [JSON.stringify(item), item]))
      schema.items = kinds.size === 1 ? prefixItems[0] : { anyOf: [...kinds.values()] }
      delete schema.prefixItems
      weaken('prefixItems', 'items')
    }
    if (typeof schema.items === 'boolean') delete schema.items
    return undefined
  },

  nullable(schema) {
    const types = typesOf(schema)
    if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
    if (types.length === 0 || types.includes('null')) return schema
    const type = [...types, 'null']
    return Array.isArray(schema.enum) ? { ...schema, type, enum: [...schema.enum, null] } : { ...schema, type }
  },
}

function ollamaDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const { description, ...schema } = new SubsetWriter(canonical.references, OLLAMA_RULES, losses).root(root)
  // Ollama drops the description of the root, so the tool's description gets it.
  const said = typeof description === 'string' ? [...words, description] : words
  return { schema: { type: 'object', properties: {}, ...schema }, words: said }
}

/** Anthropic checks only the names of top-level parameters. */
const PARAMETER_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

function anthropicDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const writer = new FullWriter(canonical.references, { refuses: () => false, itemsRequired: false }, losses)
  return { schema: writer.root(fitParameterNames(root, PARAMETER_NAME, losses)), words }
}

/** The tools of a request in the format of one provider. */
export interface CompiledTools {
  readonly tools: readonly WireTool[]
  readonly omitted: readonly OmittedTool[]
  /** Keywords that the provider doesn't get; the executor still checks them. */
  readonly dropped: readonly DroppedKeyword[]
  wireName(name: string): string
  toolName(wireName: string): string
}

interface OmittedTool {
  readonly tool: string
  readonly reason: string
}

interface DroppedKeyword extends Loss {
  readonly tool: string
}

interface CompiledTool {
  readonly tool: WireTool | undefined
  readonly reason: string
  readonly dropped: readonly DroppedKeyword[]
  /** The tool with its last wire name. */
  named: WireTool | undefined
}

const WRITERS: Readonly<Record<Exclude<Dialect, 'plain'>, DialectWriter>> = {
  openai: openaiDialect,
  anthropic: anthropicDialect,
  gemini: geminiDialect,
  ollama: ollamaDialect,
}

const lists = new WeakMap<readonly OfferedTool[], Map<Dialect, CompiledTools>>()
const single = new WeakMap<OfferedTool, Map<Dialect, CompiledTool>>()

/** Compiles tools for a provider. Lists and tools are cached by identity, so a changed list must be a new array. */
export function compileTools(tools: readonly OfferedTool[], dialect: Dialect): CompiledTools {
  return remembered(lists, tools, dialect, () => compileList(tools, dialect))
}

const responses = new WeakMap<JsonSchema, readonly OfferedTool[]>()

/** Anthropic gets only strict schemas. Ollama and grammars support more keywords in responses than in tools. */
const RESPONSES: Readonly<Record<Dialect, Dialect>> = {
  ...{ openai: 'openai', anthropic: 'openai', gemini: 'gemini', ollama: 'plain', plain: 'plain' },
}

/** Compiles the schema of a response like that of a tool; undefined if the provider can't use it. */
export function compileResponse(schema: JsonSchema, dialect: Dialect): WireTool | undefined {
  const tools = responses.get(schema) ?? [{ name: 'response', description: '', parameters: schema }]
  responses.set(schema, tools)
  return compileTools(tools, RESPONSES[dialect]).tools[0]
}

/** Whether a provider enforces the schema of a response. */
export function enforcesResponse(shapes: Shapes | undefined, schema: JsonSchema, hasTools: boolean): boolean {
  if (shapes === 'strict') return compileResponse(schema, 'openai')?.strict === true
  return shapes === 'any' || (shapes === 'alone' && !hasTools)
}

function compileList(offered: readonly OfferedTool[], dialect: Dialect): CompiledTools {
  const tools: WireTool[] = []
  const omitted: OmittedTool[] = []
  const dropped: DroppedKeyword[] = []
  const fit = new Map<string, CompiledTool>()
  for (const tool of offered) {
    const compiled = remembered(single, tool, dialect, () => compileTool(tool, dialect))
    if (compiled.tool === undefined) omitted.push({ tool: tool.name, reason: compiled.reason })
    else if (fit.has(tool.name)) omitted.push({ tool: tool.name, reason: 'another tool has the same name' })
    else fit.set(tool.name, compiled)
  }
  const names = new WireNames(fit.keys(), dialect, dialect === 'ollama' ? aliasesOf(offered) : undefined)
  for (const [name, compiled] of fit) {
    tools.push(named(compiled, names.wireName(name)))
    dropped.push(...compiled.dropped)
  }
  return {
    tools,
    omitted,
    dropped,
    wireName: (name) => names.wireName(name),
    toolName: (wireName) => names.toolName(wireName),
  }
}

function compileTool(offered: OfferedTool, dialect: Dialect): CompiledTool {
  const { name, description, parameters } = offered
  const result = { reason: '', dropped: [], named: undefined }
  if (dialect === 'plain') return { ...result, tool: { name, description, parameters } }
  const losses = new Losses()
  try {
    const { schema, words, strict } = WRITERS[dialect](canonicalSchema(parameters), losses)
    const tool = { name, description: withWords(description, words), parameters: schema }
    return {
      ...result,
      tool: strict === undefined ? tool : { ...tool, strict },
      dropped: losses.list.map((loss) => ({ tool: name, ...loss })),
    }
  } catch (error) {
    if (error instanceof RefusedSchemaError)
      return { ...result, tool: undefined, reason: `its schema cannot be used: ${error.message}` }
    throw error
  }
}

function named(compiled: CompiledTool, name: string): WireTool {
  if (compiled.named?.name !== name) compiled.named = { ...(compiled.tool as WireTool), name }
  return compiled.named as WireTool
}

function remembered<Key extends object, Value>(
  cache: WeakMap<Key, Map<Dialect, Value>>,
  key: Key,
  dialect: Dialect,
  make: () => Value,
): Value {
  const known = cache.get(key) ?? new Map<Dialect, Value>()
  cache.set(key, known)
  let value = known.get(dialect)
  if (value === undefined) {
    value = make()
    known.set(dialect, value)
  }
  return value
}
