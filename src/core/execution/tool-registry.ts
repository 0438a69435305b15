import type { CallContext } from '../call-context.ts'
import type { CancelSignal } from '../cancellation.ts'
import { asText } from '../json-depth.ts'
import { type Log, silentLog, writeLog } from '../log.ts'
import { guardParameters } from '../schema/guard-schema.ts'
import { type ConvertSchema, parametersProblem } from '../schema/json-schema-of.ts'
import type { ToolDefinition } from '../tool.ts'
import { ToolExecutionError, type ToolResult } from '../tool-result.ts'
import { isText, langchainName, packageOf, type RegisteredTool, toolView } from './tool-view.ts'

export interface ToolRegistryOptions {
  readonly log?: Log
  /** Converts schemas of Zod before 4.2 in LangChain tools. */
  readonly convertSchema?: ConvertSchema
}

type Rights = Pick<CallContext, 'flags' | 'tools'>

/** All tools in one collection, as the objects that were registered. */
export class ToolRegistry {
  readonly #tools = new Map<string, RegisteredTool>()
  readonly #views = new WeakMap<RegisteredTool, ToolDefinition>()
  readonly #aliases = new Map<string, string>()
  readonly #broken = new Map<string, string>()
  #diagnose: (tool: ToolDefinition) => string | undefined = () => undefined
  #show: (tool: ToolDefinition, rights: Rights) => ToolDefinition = (tool) => tool
  readonly #listeners = new Set<(name: string) => void>()
  readonly #log: Log
  readonly #convert: ConvertSchema | undefined
  #version = 0
  /** False until the tools of a configuration are registered: the error for an unknown tool says so. */
  isLoaded = true
  #invoke: Invoke = async (name) => ({
    success: false,
    error: `Tool '${name}' cannot run: its registry has no ToolExecutor. Create one: new ToolExecutor(registry)`,
    error_code: 'EXECUTION_ERROR',
    tool_name: name,
    execution_time_ms: 0,
  })

  constructor(options: ToolRegistryOptions = {}) {
    this.#log = options.log ?? silentLog
    this.#convert = options.convertSchema
  }

  /** Increases with every change. Lets callers cache what they derive from the list. */
  get version(): number {
    return this.#version
  }

  /** Adds a tool, or replaces the one of the same name with a warning. Throws if it isn't a valid tool. */
  register(tool: RegisteredTool): void {
    const definition = this.#read(tool)
    const name = checkedName(definition)
    const packaged = packageOf(tool) === undefined ? packageOf(this.#tools.get(name)) : undefined
    if (packaged !== undefined) {
      const fields = { tool: name, package: packaged }
      writeLog(this.#log, 'warn', fields, 'A tool of a package gives way to another tool of its name')
      this.unregister(name)
    }
    if (this.#tools.get(name) === tool) return
    if (this.#tools.has(name)) {
      writeLog(this.#log, 'warn', { tool: name }, 'Tool registered again: the new one replaces the old one')
    }
    this.#forget(name)
    this.#tools.set(name, tool)
    if (definition !== tool) this.#views.set(tool, definition)
    try {
      guardParameters(definition.parameters)
    } catch (error) {
      this.markBroken(name, error instanceof Error ? error.message : String(error))
    }
    const alias = langchainName(tool)
    if (alias !== undefined && alias !== name) this.#aliases.set(alias, name)
    this.#changed(name)
  }

  /** Adds tools of a program. Throws if there is one of the same name already. */
  addAll(tools: readonly RegisteredTool[]): void {
    for (const tool of tools) {
      const { name } = this.#read(tool)
      if (this.has(name) && packageOf(this.get(name)) === undefined)
        throw new TypeError(`There are two tools '${name}': rename one of them`)
      this.register(tool)
    }
  }

  /** Runs a tool with the executor of this registry. */
  execute(name: string, params: unknown, context?: CallContext): Promise<ToolResult> {
    return this.#invoke(name, params, context)
  }

  unregister(name: string): boolean {
    if (!this.#tools.has(name)) return false
    this.#forget(name)
    this.#tools.delete(name)
    this.#changed(name)
    return true
  }

  get(name: string): RegisteredTool | undefined {
    return this.#tools.get(name)
  }

  has(name: string): boolean {
    return this.#tools.has(name)
  }

  find(name: string): RegisteredTool | undefined {
    const tool = this.get(name)
    if (tool !== undefined) return tool
    const alias = this.#aliases.get(name)
    return alias === undefined ? undefined : this.get(alias)
  }

  list(): RegisteredTool[] {
    return [...this.#tools.values()]
  }

  /** The definition of a tool. LangChain tools get a view, which is created once. */
  definitionOf(tool: RegisteredTool): ToolDefinition {
    return this.#views.get(tool) ?? toolView(tool, this.#convert)
  }

  definitions(): ToolDefinition[] {
    return this.list().map((tool) => this.definitionOf(tool))
  }

  /** Why a registered tool can't be called, if so. */
  brokenReason(name: string): string | undefined {
    const tool = this.#tools.get(name)
    return this.#broken.get(name) ?? (tool && this.#diagnose(this.definitionOf(tool)))
  }

  /** Why the schema of a tool can't be used, if so. Suites call no handlers, so nothing else matters to them. */
  invalidReason(name: string): string | undefined {
    return this.#broken.get(name)
  }

  /** Sets what finds out why a tool can't run. */
  diagnoseBy(diagnose: (tool: ToolDefinition) => string | undefined): void {
    this.#diagnose = diagnose
  }

  /** A tool as a caller with these rights sees it: some describe the tools that they call. */
  shownTo(tool: ToolDefinition, rights: Rights): ToolDefinition {
    return this.#show(tool, rights)
  }

  /** Sets what describes tools to callers. */
  showBy(show: (tool: ToolDefinition, rights: Rights) => ToolDefinition): void {
    this.#show = show
  }

  /** Tells readers of `version` to ask again which tools can run, after a handler was added. */
  recheck(): void {
    this.#version++
  }

  /** Marks a tool with an invalid schema. It stays listed. */
  markBroken(name: string, reason: string): void {
    if (this.#broken.has(name)) return
    this.#broken.set(name, reason)
    writeLog(this.#log, 'warn', { tool: name, reason }, 'Tool has an invalid schema and will fail when called')
  }

  /** The tools in the format of a provider; with `allowed`, only the named ones. */
  toProviderFormat(provider: string, allowed?: readonly string[]): object[] {
    const names = allowed && new Set(allowed)
    const tools = names ? this.definitions().filter((tool) => names.has(tool.name)) : this.definitions()
    const shown = tools.map((tool) => this.shownTo(tool, {}))
    return providerFormat(provider, shown, (...call) => this.#invoke(...call))
  }

  /** Sets the executor for tools that are exported with an `invoke` function. */
  invokeBy(invoke: Invoke): void {
    this.#invoke = invoke
  }

  /** Calls back with the name of each added, replaced or removed tool. Returns a function that stops it. */
  onChange(listener: (name: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #read(tool: RegisteredTool): ToolDefinition {
    try {
      return this.definitionOf(tool)
    } catch (error) {
      const { name } = Object(tool) as Partial<ToolDefinition>
      throw new TypeError(`${error instanceof Error ? error.message : 'The tool cannot be read'} (tool '${name}')`)
    }
  }

  /** A replaced tool keeps its position in the list. */
  #forget(name: string): void {
    this.#broken.delete(name)
    const tool = this.#tools.get(name)
    if (tool !== undefined) this.#views.delete(tool)
    const alias = tool && langchainName(tool)
    if (alias !== undefined && this.#aliases.get(alias) === name) this.#aliases.delete(alias)
  }

  #changed(name: string): void {
    this.#version++
    for (const listener of this.#listeners) listener(name)
  }
}

function checkedName(tool: ToolDefinition): string {
  const { name, description, parameters } = Object(tool) as Partial<ToolDefinition>
  if (!isText(name) || !isText(description)) throw new TypeError('Tool must have name and description')
  const problem = parametersProblem(parameters)
  if (problem !== undefined) throw new TypeError(`${problem} (tool '${name}')`)
  return name
}

type Invoke = (name: string, params: unknown, context?: CallContext) => Promise<ToolResult>

const openai = ({ name, description, parameters }: ToolDefinition): object => ({
  type: 'function',
  function: { name, description, parameters },
})

const FORMATS: Readonly<Record<string, (tool: ToolDefinition, invoke: Invoke) => object>> = {
  openai,
  ollama: openai,
  gemini: ({ name, description, parameters }) => ({ name, description, parameters }),
  anthropic: ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
  mcp: ({ name, description, parameters }) => ({ name, description, inputSchema: parameters }),
  langchain: ({ name, description, parameters }, invoke) => ({
    name,
    description,
    schema: parameters,
    async invoke(args: unknown, options?: { readonly signal?: CancelSignal }): Promise<string> {
      const result = await invoke(name, args, options?.signal && { signal: options.signal })
      if (result.success) return asText(result.result)
      throw new ToolExecutionError(result.error_code, result.error)
    },
  }),
}

function providerFormat(provider: string, tools: readonly ToolDefinition[], invoke: Invoke): object[] {
  const format = Object.hasOwn(FORMATS, provider) ? FORMATS[provider] : undefined
  if (format === undefined) {
    throw new TypeError(`Unknown provider: ${provider} (known: ${Object.keys(FORMATS).join(', ')})`)
  }
  return tools.map((tool) => format(tool, invoke))
}
