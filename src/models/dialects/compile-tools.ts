import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { OfferedTool } from '../model.ts'
import type { Dialect, WireTool } from '../provider.ts'
import { anthropicDialect } from './anthropic-dialect.ts'
import { canonicalSchema } from './canonical-schema.ts'
import type { DialectWriter } from './dialect-schema.ts'
import { geminiDialect } from './gemini-dialect.ts'
import { type Loss, Losses, withWords } from './losses.ts'
import { ollamaDialect } from './ollama-dialect.ts'
import { openaiDialect } from './openai-dialect.ts'
import { WireNames } from './wire-names.ts'

/** Tools as one provider takes them. */
export interface CompiledTools {
  readonly tools: readonly WireTool[]
  /** Those that the provider cannot take, and why. */
  readonly omitted: readonly OmittedTool[]
  /** What the provider is not told of the schemas; the executor validates against all of it. */
  readonly dropped: readonly DroppedKeyword[]
  /** The name for the provider, also for a tool that is offered no more. */
  wireName(name: string): string
  /** The tool that the provider means; a name that is nobody's stays as it is. */
  toolName(wireName: string): string
}

export interface OmittedTool {
  readonly tool: string
  readonly reason: string
}

export interface DroppedKeyword extends Loss {
  readonly tool: string
}

/** One tool in one dialect; its name depends on the others. */
interface CompiledTool {
  readonly tool: WireTool | undefined
  readonly reason: string
  readonly dropped: readonly DroppedKeyword[]
  /** The tool under the name it had last. */
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

/**
 * Compiles tools for a provider: once for a list, and once for a tool where lists change. Neither is looked into
 * again, so a changed list must be a new one.
 */
export function compileTools(tools: readonly OfferedTool[], dialect: Dialect): CompiledTools {
  return remembered(lists, tools, dialect, () => compileList(tools, dialect))
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
  const names = new WireNames(fit.keys(), dialect)
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
