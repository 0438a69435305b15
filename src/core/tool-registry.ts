import { type Log, silentLog } from './log.ts'
import { providerFormat } from './provider-format.ts'
import { guardSchema } from './schema/guard-schema.ts'
import type { ToolDefinition } from './tool.ts'

/** All tools, whatever their origin, in one collection; each is handed out as the very object that was registered. */
export class ToolRegistry {
  readonly #tools = new Map<string, ToolDefinition>()
  readonly #aliases = new Map<string, string>()
  readonly #broken = new Map<string, string>()
  readonly #listeners = new Set<(name: string) => void>()
  readonly #log: Log
  #version = 0

  constructor(options: { readonly log?: Log } = {}) {
    this.#log = options.log ?? silentLog
  }

  /** Grows with every change: what was rendered from the list of tools is good as long as this stays. */
  get version(): number {
    return this.#version
  }

  /** Adds a tool, or replaces the one of that name, with a warning. Refuses what is no tool. */
  register(tool: ToolDefinition): void {
    const name = checkedName(tool)
    if (this.#tools.get(name) === tool) return
    if (this.#tools.has(name)) this.#log.warn({ tool: name }, 'Tool registered again: the new one replaces the old one')
    this.#tools.set(name, tool)
    this.#broken.delete(name)
    try {
      guardSchema(tool.parameters)
    } catch (error) {
      this.markBroken(name, error instanceof Error ? error.message : String(error))
    }
    const alias = langchainName(tool)
    if (alias !== undefined && alias !== name) this.#aliases.set(alias, name)
    this.#changed(name)
  }

  /** Takes a tool out; says whether there was one. */
  unregister(name: string): boolean {
    const tool = this.#tools.get(name)
    if (tool === undefined) return false
    this.#tools.delete(name)
    this.#broken.delete(name)
    const alias = langchainName(tool)
    if (alias !== undefined && this.#aliases.get(alias) === name) this.#aliases.delete(alias)
    this.#changed(name)
    return true
  }

  get(name: string): ToolDefinition | undefined {
    return this.#tools.get(name)
  }

  has(name: string): boolean {
    return this.#tools.has(name)
  }

  /** Like `get`, and also by a LangChain tool's `lc_name`. */
  find(name: string): ToolDefinition | undefined {
    const tool = this.#tools.get(name)
    if (tool !== undefined) return tool
    const alias = this.#aliases.get(name)
    return alias === undefined ? undefined : this.#tools.get(alias)
  }

  list(): ToolDefinition[] {
    return [...this.#tools.values()]
  }

  /** Why a registered tool cannot be called; undefined where it can. */
  brokenReason(name: string): string | undefined {
    return this.#broken.get(name)
  }

  /** Notes that a tool's schema does not work: it stays listed and stops no other. */
  markBroken(name: string, reason: string): void {
    if (this.#broken.has(name)) return
    this.#broken.set(name, reason)
    this.#log.warn({ tool: name, reason }, 'Tool has an invalid schema and will fail when called')
  }

  /** The tools as a provider wants them; with `allowed`, only those named. */
  toProviderFormat(provider: string, allowed?: readonly string[]): object[] {
    const names = allowed && new Set(allowed)
    return providerFormat(provider, names ? this.list().filter((tool) => names.has(tool.name)) : this.list())
  }

  /** Calls back with the name of every tool that is added, replaced or taken out; gives the way to stop that. */
  onChange(listener: (name: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(name: string): void {
    this.#version++
    for (const listener of this.#listeners) listener(name)
  }
}

function checkedName(tool: ToolDefinition): string {
  const { name, description, parameters } = Object(tool) as Partial<ToolDefinition>
  if (!isText(name) || !isText(description)) throw new TypeError('Tool must have name and description')
  const schema = Object(parameters) as { type?: unknown }
  if (schema !== parameters || Array.isArray(parameters) || schema.type !== 'object') {
    throw new TypeError('Tool parameters must be an object schema')
  }
  return name
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

function langchainName(tool: object): string | undefined {
  const name = 'lc_name' in tool ? tool.lc_name : undefined
  return isText(name) ? name : undefined
}
