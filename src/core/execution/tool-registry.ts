import { createHash } from 'node:crypto'
import type { CallContext } from '../call-context.ts'
import type { CancelSignal } from '../cancellation.ts'
import { type Checks, callable, checkAll, checkKeys, logger } from '../check-options.ts'
import { asText, depthProblem, foreignText } from '../json/json-depth.ts'
import { type Log, silentLog, writeLog } from '../log.ts'
import { guardParameters } from '../schema/guard-schema.ts'
import { type ConvertSchema, parametersProblem } from '../schema/json-schema-of.ts'
import { quoted } from '../schema/problem-words.ts'
import type { Rollout, ToolDefinition } from '../tool.ts'
import { ToolExecutionError, type ToolResult } from '../tool-result.ts'
import {
  compareVersions,
  isPrerelease,
  isText,
  KEYS,
  langchainName,
  packageOf,
  pinnedName,
  type RegisteredTool,
  toolView,
  versionOf,
  versionProblem,
} from './tool-view.ts'

export interface ToolRegistryOptions {
  readonly log?: Log
  /** Converts schemas of Zod before 4.2 in LangChain tools. */
  readonly convertSchema?: ConvertSchema
}

type Rights = Pick<CallContext, 'flags' | 'tools'>

type Versions = ReadonlyMap<string, RegisteredTool>

/** All tools in one collection, as the objects that were registered. */
export class ToolRegistry {
  /** The current version of each tool. */
  readonly #tools = new Map<string, RegisteredTool>()
  readonly #versions = new Map<string, Map<string, RegisteredTool>>()
  #rollouts: ReadonlyMap<string, Rollout> = new Map()
  /** Tools of packages that gave way to others, until those are removed. */
  readonly #aside = new Map<string, ReadonlySet<RegisteredTool>>()
  readonly #views = new WeakMap<RegisteredTool, ToolDefinition>()
  readonly #aliases = new Map<string, string>()
  /** Found by their name only, and not if another tool has it. */
  readonly #unlisted = new Map<string, ToolDefinition>()
  readonly #broken = new Map<RegisteredTool, string>()
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
    checkAll('ToolRegistry', options, { log: logger, convertSchema: callable } satisfies Checks<ToolRegistryOptions>)
    this.#log = options.log ?? silentLog
    this.#convert = options.convertSchema
  }

  /** Increases with every change. Lets callers cache what they derive from the list. */
  get version(): number {
    return this.#version
  }

  /** Adds a tool, or replaces the one of the same name and version with a warning. Throws if it isn't a valid tool. */
  register(tool: RegisteredTool): void {
    const definition = this.#read(tool)
    const name = checkedName(definition)
    const holder = this.#tools.get(name)
    const owner = packageOf(holder)
    if (holder !== undefined && packageOf(tool) !== owner) {
      const fields = { tool: name, package: packageOf(tool) ?? owner }
      if (packageOf(tool) !== undefined) {
        writeLog(this.#log, 'warn', fields, 'A tool of a package is left out: another tool has its name')
        this.#aside.set(name, new Set([...(this.#aside.get(name) ?? []), tool]))
        return
      }
      writeLog(this.#log, 'warn', fields, 'A tool of a package gives way to another tool of its name')
      const before = [...(this.#versions.get(name)?.values() ?? [])]
      this.#remove(name)
      this.#aside.set(name, new Set([...before, ...(this.#aside.get(name) ?? [])]))
    }
    const version = versionOf(definition)
    const versions = this.#versions.get(name) ?? new Map<string, RegisteredTool>()
    const before = versions.get(version)
    if (before === tool) return
    if (before !== undefined) {
      writeLog(this.#log, 'warn', { tool: name }, 'Tool registered again: the new one replaces the old one')
      this.#forget(name, before)
    }
    versions.set(version, tool)
    this.#versions.set(name, versions)
    this.#tools.set(name, this.#current(name, versions))
    if (definition !== tool) this.#views.set(tool, definition)
    try {
      guardParameters(definition.parameters)
    } catch (error) {
      this.markBroken(definition, error instanceof Error ? error.message : String(error))
    }
    const alias = langchainName(tool)
    if (alias !== undefined && alias !== name) this.#aliases.set(alias, name)
    this.#changed(name)
  }

  /** Adds tools of a program. Throws one error for all that are invalid or have the name and version of another tool. */
  addAll(tools: readonly RegisteredTool[]): void {
    const problems = this.addValid(tools)
    if (problems.length > 0) throw new TypeError(problems.join('\n'))
  }

  /** Adds the tools of a program that can be added, and returns why the others can't. */
  addValid(tools: readonly RegisteredTool[]): string[] {
    return tools.flatMap((tool) => {
      try {
        this.#add(tool)
        return []
      } catch (error) {
        return [(error as Error).message]
      }
    })
  }

  #add(tool: RegisteredTool): void {
    const definition = this.#read(tool)
    // A misspelled key, such as `permision`, must not open the tool.
    if (definition === tool) checkKeys(`Tool '${definition.name}'`, definition, KEYS)
    if (this.at(definition) !== undefined && packageOf(this.get(definition.name)) === undefined) {
      throw new TypeError(`There are two tools '${definition.name}': rename one of them, or give it another version`)
    }
    this.register(tool)
  }

  /** Adds a tool of ours that no list shows. Other tools may have its name. */
  addUnlisted(tool: ToolDefinition): void {
    this.#unlisted.set(tool.name, tool)
  }

  /** Runs a tool with the executor of this registry. */
  execute(name: string, params: unknown, context?: CallContext): Promise<ToolResult> {
    return this.#invoke(name, params, context)
  }

  /** Removes a tool with all its versions. A tool of a package that gave way to it comes back. */
  unregister(name: string): boolean {
    if (!this.#remove(name)) return false
    const aside = this.#aside.get(name) ?? []
    this.#aside.delete(name)
    for (const tool of aside) this.register(tool)
    return true
  }

  #remove(name: string): boolean {
    const versions = this.#versions.get(name)
    if (versions === undefined) return false
    for (const tool of versions.values()) this.#forget(name, tool)
    this.#tools.delete(name)
    this.#versions.delete(name)
    this.#changed(name)
    return true
  }

  /** The current version of a tool. */
  get(name: string): RegisteredTool | undefined {
    return this.#tools.get(name)
  }

  /** The version of a tool that a definition has. */
  at(definition: Pick<ToolDefinition, 'name' | 'version'>): RegisteredTool | undefined {
    return this.#versions.get(definition.name)?.get(versionOf(definition))
  }

  /** The definitions of all versions of a tool, the oldest first. */
  versionsOf(name: string): ToolDefinition[] {
    const all = [...(this.#versions.get(name)?.values() ?? [])].map((tool) => this.definitionOf(tool))
    return all.sort((a, b) => compareVersions(versionOf(a), versionOf(b)))
  }

  /** How tools can be called: by their name and, if they have one, by their version. */
  names(): string[] {
    return [...this.#tools.keys()].flatMap((name) => {
      const versions = this.versionsOf(name)
      const isVersioned = versions.length > 1 || versions[0]?.version !== undefined
      return isVersioned ? [name, ...versions.map(pinnedName)] : [name]
    })
  }

  hasVersions(name: string): boolean {
    return (this.#versions.get(name)?.size ?? 0) > 1
  }

  /** Sets which versions callers get, by tool. */
  rollOut(rollouts: ReadonlyMap<string, Rollout>): void {
    const names = new Set([...this.#rollouts.keys(), ...rollouts.keys()])
    const before = this.#rollouts
    this.#rollouts = rollouts
    for (const name of names) {
      const versions = this.#versions.get(name)
      if (versions === undefined || JSON.stringify(before.get(name)) === JSON.stringify(rollouts.get(name))) continue
      this.#tools.set(name, this.#current(name, versions))
      this.#changed(name)
    }
  }

  /** Rollouts that can't do what they say. */
  rolloutProblems(): { readonly tool: string; readonly problem: string }[] {
    return Array.from(this.#rollouts, ([tool, { current, candidate }]) => {
      const known = this.versionsOf(tool).map(versionOf)
      const missing = [current, candidate].find((version) => version !== undefined && !known.includes(version))
      if (known.length === 0) return { tool, problem: `There is no tool '${tool}'` }
      if (missing !== undefined) return { tool, problem: `There is no version '${missing}', only ${known.join(', ')}` }
      if (candidate === current) return { tool, problem: `Version ${current} is both current and candidate` }
      const isDeprecated = this.definitionOf(this.get(tool) as RegisteredTool).deprecated !== undefined
      return isDeprecated
        ? { tool, problem: `Version ${current} is current and deprecated: models aren't offered it` }
        : undefined
    }).filter((one) => one !== undefined)
  }

  /** Whether some callers get other versions than the current ones. */
  get isRollingOut(): boolean {
    for (const { candidate } of this.#rollouts.values()) if (candidate !== undefined) return true
    return false
  }

  /** Whether a name is another name of a tool. */
  isAlias(name: string): boolean {
    return this.#aliases.has(name)
  }

  has(name: string): boolean {
    return this.#tools.has(name)
  }

  /**
   * The one place that resolves a name: `name` is the version that the caller gets, without a caller the current one, and
   * `name@version` is exactly that version.
   */
  find(name: string, caller?: CallContext): RegisteredTool | undefined {
    const tool = this.#tools.get(name)
    if (tool !== undefined) return this.#chosen(name, tool, caller)
    const alias = this.#aliases.get(name)
    if (alias !== undefined) return this.find(alias, caller)
    const unlisted = this.#unlisted.get(name)
    if (unlisted !== undefined) return unlisted
    const end = name.lastIndexOf('@')
    return end > 0 ? this.at({ name: name.slice(0, end), version: name.slice(end + 1) }) : undefined
  }

  /** The versions that callers of a name may get. */
  reachable(name: string): ToolDefinition[] {
    const current = this.find(name)
    if (current === undefined) return []
    const definition = this.definitionOf(current)
    const { candidate } = this.#rollouts.get(definition.name) ?? {}
    const isPinned = name !== definition.name && name === pinnedName(definition)
    const other = isPinned || candidate === undefined ? undefined : this.at({ ...definition, version: candidate })
    return other === undefined || other === current ? [definition] : [definition, this.definitionOf(other)]
  }

  /** One version of each tool: those that the caller gets, without a caller the current ones. */
  list(caller?: CallContext): RegisteredTool[] {
    if (caller === undefined) return [...this.#tools.values()]
    return Array.from(this.#tools, ([name, tool]) => this.#chosen(name, tool, caller))
  }

  /** The definition of a tool. LangChain tools get a view, which is created once. */
  definitionOf(tool: RegisteredTool): ToolDefinition {
    return this.#views.get(tool) ?? toolView(tool, this.#convert)
  }

  definitions(caller?: CallContext): ToolDefinition[] {
    return this.list(caller).map((tool) => this.definitionOf(tool))
  }

  /** The definitions for models: without deprecated ones, unless `allowed` names their version, or the run has called it. */
  offered(caller?: CallContext, allowed?: readonly string[]): ToolDefinition[] {
    // Programs without types pass null for none.
    const names = allowed ?? undefined
    if (names !== undefined && !Array.isArray(names)) {
      throw new TypeError(`The allowed tools must be an array of names, such as ["echo"], not ${quoted(names)}`)
    }
    const isCurrent = (tool: ToolDefinition): boolean =>
      tool.deprecated === undefined || caller?.versions?.get(tool.name) === versionOf(tool)
    if (names === undefined) return this.definitions(caller).filter(isCurrent)
    const offered = new Map<string, ToolDefinition>()
    for (const asked of names) {
      const tool = this.find(asked, caller)
      const definition = tool && this.definitionOf(tool)
      if (definition === undefined || offered.has(definition.name)) continue
      const isPinned = asked === `${definition.name}@${versionOf(definition)}`
      if (isPinned || isCurrent(definition)) offered.set(definition.name, definition)
    }
    return [...offered.values()]
  }

  /** Why a registered tool or version can't be called, if so. */
  brokenReason(asked: string | ToolDefinition): string | undefined {
    const tool = typeof asked === 'string' ? this.find(asked) : this.at(asked)
    return tool && (this.#broken.get(tool) ?? this.#diagnose(this.definitionOf(tool)))
  }

  /** Why the schema of a tool can't be used, if so. Suites call no handlers, so nothing else matters to them. */
  invalidReason(name: string): string | undefined {
    const tool = this.#tools.get(name)
    return tool && this.#broken.get(tool)
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
  markBroken(definition: ToolDefinition, reason: string): void {
    const tool = this.at(definition)
    if (tool === undefined || this.#broken.has(tool)) return
    this.#broken.set(tool, reason)
    const fields = { tool: definition.name, reason }
    writeLog(this.#log, 'warn', fields, 'Tool has an invalid schema and will fail when called')
  }

  /** The tools in the format of a provider; with `allowed`, only the named ones. */
  toProviderFormat(provider: string, allowed?: readonly string[]): object[] {
    const shown = this.offered(undefined, allowed).map((tool) => this.shownTo(tool, {}))
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
      const definition = this.definitionOf(tool)
      const { parameters, implementation, approval, migrate } = Object(definition) as Partial<ToolDefinition>
      const problem = depthProblem({ parameters, implementation, approval, migrate })
      if (problem !== undefined) throw new TypeError(problem)
      return definition
    } catch (error) {
      const { name } = Object(tool) as Partial<ToolDefinition>
      throw new TypeError(
        `${error instanceof Error ? error.message : 'The tool cannot be read'} (tool '${foreignText(name)}')`,
      )
    }
  }

  /** The version that the rollout names, else the highest that isn't a pre-release, else the highest. */
  #current(name: string, versions: Versions): RegisteredTool {
    const named = versions.get(this.#rollouts.get(name)?.current ?? '')
    if (named !== undefined) return named
    const sorted = [...versions.keys()].sort(compareVersions)
    const highest = sorted.findLast((version) => !isPrerelease(version)) ?? sorted.at(-1)
    return versions.get(highest as string) as RegisteredTool
  }

  #chosen(name: string, current: RegisteredTool, caller: CallContext | undefined): RegisteredTool {
    if (caller === undefined || !this.hasVersions(name)) return current
    const versions = this.#versions.get(name) as Versions
    const pinned = caller.versions?.get(name)
    if (pinned !== undefined) return versions.get(pinned) ?? current
    const rollout = this.#rollouts.get(name)
    const candidate = rollout?.candidate === undefined ? undefined : versions.get(rollout.candidate)
    if (candidate === undefined || rollout === undefined) return current
    // A call that waits for approval is repeated later: it must be drawn alike.
    const waits = rollout.by === 'call' && this.versionsOf(name).some(({ approval }) => approval)
    return isDrawn(name, rollout, caller, waits) ? candidate : current
  }

  /** A replaced tool keeps its position in the list. */
  #forget(name: string, tool: RegisteredTool): void {
    this.#broken.delete(tool)
    this.#views.delete(tool)
    const alias = langchainName(tool)
    if (alias !== undefined && this.#aliases.get(alias) === name) this.#aliases.delete(alias)
  }

  #changed(name: string): void {
    this.#version++
    for (const listener of this.#listeners) listener(name)
  }
}

const MAX_DRAW = 2 ** 48

/**
 * Whether a caller gets the candidate. A caller that gets it at 10 % still gets it at 50 %, on every server. A repeated call
 * with the same idempotency key and the calls of one run are drawn alike.
 */
function isDrawn(name: string, rollout: Rollout, caller: CallContext, waits: boolean): boolean {
  const { candidate, percent = 0, by = 'session' } = rollout
  const { tenant = '', caller: key = '', session = '', source, runId, idempotencyKey } = caller
  const once = runId ?? idempotencyKey
  // A client of MCP calls what it was listed.
  const isByCall = by === 'call' && source !== 'mcp' && !waits
  if (isByCall && once === undefined) return Math.random() * 100 < percent
  const side = by === 'tenant' ? [] : [key, isByCall ? once : session]
  const digest = createHash('sha256')
    .update(JSON.stringify([name, candidate, tenant, ...side]))
    .digest()
  return (digest.readUIntBE(0, 6) / MAX_DRAW) * 100 < percent
}

function checkedName(tool: ToolDefinition): string {
  const { name, description, parameters, version } = Object(tool) as Partial<ToolDefinition>
  if (!isText(name) || !isText(description)) throw new TypeError('Tool must have name and description')
  const problem = parametersProblem(parameters)
  if (problem !== undefined) throw new TypeError(`${problem} (tool '${name}')`)
  const wrong = version === undefined ? undefined : versionProblem(version)
  if (wrong !== undefined) throw new TypeError(`Tool '${name}': ${wrong}`)
  return name
}

type Invoke = (name: string, params: unknown, context?: CallContext) => Promise<ToolResult>

const openai = ({ name, description, parameters }: ToolDefinition): object => ({
  type: 'function',
  function: { name, description, parameters },
})

const FORMATS: Readonly<Record<string, (tool: ToolDefinition, invoke: Invoke) => object>> = {
  openai,
  // Models of Ollama get the name that LangChain prefers.
  ollama: (tool) => openai({ ...tool, name: langchainName(tool) ?? tool.name }),
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
