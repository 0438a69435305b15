import type { Client } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import type { HandlerContext } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { ConnectFailure } from './connect-failure.ts'
import { listAll } from './list-all.ts'
import { definitionOf, type ServerTool, serverTool } from './listed-tool.ts'
import { McpConnection } from './mcp-connection.ts'
import type { PinStore } from './pin-store.ts'
import { PinnedTools } from './pinned-tools.ts'
import { MCP_RETRY_ATTEMPTS } from './retry-plan.ts'
import { ServerLibrary } from './server-library.ts'
import type { McpServerSettings } from './server-settings.ts'
import type { TokenSupply } from './token-supply.ts'

/** What a parameter carries that a server over HTTP wants in a header as well. */
const MARK = 'x-mcp-header'
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const MIRRORED_TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
/** Keywords under which schemas stand: by name, or alone and in lists. */
const BY_NAME = ['$defs', 'definitions', 'patternProperties', 'dependentSchemas']
const NESTED = [
  ...['items', 'prefixItems', 'additionalItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
]

interface Place {
  readonly schema: unknown
  readonly path: string
  /** A parameter, or part of one, that is there in every call or is left out: nothing else has one value to send. */
  readonly isParameter: boolean
}

/**
 * Why the parameters of a tool cannot be sent in headers as its schema asks; undefined where they can, or none is to be.
 * From 2026-07-28 on a client over HTTP must leave such a tool out.
 */
export function mirroringProblem(parameters: JsonSchema): string | undefined {
  const names = new Set<string>()
  const places: Place[] = [{ schema: parameters, path: '', isParameter: false }]
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { schema, path } = place
    if (typeof schema !== 'object' || schema === null) continue
    if (Object.hasOwn(schema, MARK)) {
      const problem = markProblem(place, names)
      if (problem !== undefined) return `${MARK} of ${path || 'the schema'} ${problem}`
    }
    places.push(...placesBelow(place))
  }
  return undefined
}

function markProblem({ schema, isParameter }: Place, names: Set<string>): string | undefined {
  const { [MARK]: name, type } = schema as Record<string, unknown>
  if (!isParameter) return 'does not belong to a parameter'
  if (typeof name !== 'string' || !HEADER_NAME.test(name)) return 'cannot be the name of a header'
  if (!MIRRORED_TYPES.includes(type)) return 'is for a type that no header can hold'
  if (names.has(name.toLowerCase())) return 'is another parameter’s too'
  names.add(name.toLowerCase())
  return undefined
}

function placesBelow({ schema, path, isParameter }: Place): Place[] {
  const held = schema as Record<string, unknown>
  const named = (key: string, reached: boolean): Place[] =>
    Object.entries(Object(held[key])).map(([name, one]) => ({
      schema: one,
      path: path === '' ? name : `${path}.${name}`,
      isParameter: reached,
    }))
  const reached = path === '' || isParameter
  return [
    ...named('properties', reached),
    ...BY_NAME.flatMap((key) => named(key, false)),
    ...NESTED.flatMap((key) =>
      [held[key]].flat().map((one) => ({ schema: one, path: `${path}<${key}>`, isParameter: false })),
    ),
  ]
}

/** What a server offers. */
interface Offered {
  readonly server: string
  readonly tools: readonly ServerTool[]
}

/**
 * The tools of MCP servers in the registry. They never replace a tool of another origin or server: a bare name belongs to
 * local tools, then to the server that stands first; where it is taken, a tool joins as `<server>__<tool>`.
 */
class JoinedTools {
  readonly #registry: ToolRegistry
  readonly #log: Log
  readonly #joined = new Map<string, { readonly definition: ToolDefinition; readonly tool: ServerTool }>()
  readonly #stopListening: () => void
  #offered: readonly Offered[] = []
  #arranging = false
  #queued = false

  constructor(registry: ToolRegistry, log: Log) {
    this.#registry = registry
    this.#log = log
    this.#stopListening = registry.onChange(() => this.#arrangeSoon())
  }

  /** Brings the registry in line with what the servers offer, the first of them first. */
  set(offered: readonly Offered[]): void {
    this.#offered = offered
    this.#arrange()
  }

  /** The tool as its server listed it. */
  find(server: string, tool: string): ServerTool | undefined {
    return this.#offered.find((one) => one.server === server)?.tools.find(({ name }) => name === tool)
  }

  /** Takes all of them out. */
  close(): void {
    this.#stopListening()
    this.set([])
  }

  /** A local tool that comes or goes takes a name, or leaves one. */
  #arrangeSoon(): void {
    if (this.#arranging || this.#queued) return
    this.#queued = true
    queueMicrotask(() => {
      this.#queued = false
      this.#arrange()
    })
  }

  #arrange(): void {
    this.#arranging = true
    try {
      const wanted = this.#named()
      for (const [name, { definition }] of this.#joined) {
        const next = wanted.get(name)
        if (next !== undefined && this.#isSame(name, next.server, next.tool)) continue
        if (this.#registry.get(name) === definition) this.#registry.unregister(name)
        this.#joined.delete(name)
      }
      for (const [name, { server, tool }] of wanted) {
        if (this.#joined.has(name)) continue
        const definition = definitionOf(tool, server, name)
        this.#registry.register(definition)
        this.#joined.set(name, { definition, tool })
      }
    } finally {
      this.#arranging = false
    }
  }

  #isSame(name: string, server: string, tool: ServerTool): boolean {
    const joined = this.#joined.get(name)
    return joined?.tool === tool && joined.definition.implementation.server === server
  }

  #named(): Map<string, { readonly server: string; readonly tool: ServerTool }> {
    const named = new Map<string, { readonly server: string; readonly tool: ServerTool }>()
    const isFree = (name: string): boolean => {
      if (named.has(name)) return false
      const holder = this.#registry.get(name)
      return holder === undefined || holder === this.#joined.get(name)?.definition
    }
    for (const { server, tools } of this.#offered) {
      for (const tool of tools) {
        const name = [tool.name, `${server}__${tool.name}`].find(isFree)
        if (name !== undefined) named.set(name, { server, tool })
        else this.#log.warn({ server, tool: tool.name }, 'MCP tool left out: both of its names are taken')
      }
    }
    return named
  }
}

export interface McpServersParts {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  /** Where it is kept which definitions were approved. */
  readonly pins: PinStore
  /** Where the tokens for a server come from, where it may want some. */
  readonly authProvider?: (settings: McpServerSettings) => Promise<TokenSupply | undefined>
  /** Gets each new client before it connects, to let it do what tools of Toolyard do not: answer what a server asks. */
  readonly extend?: (client: Client) => void
}

interface Member {
  readonly connection: McpConnection
  readonly pinned: PinnedTools
  /** Undefined until the server has been connected once. */
  tools: readonly ServerTool[] | undefined
}

/** The MCP servers of a configuration: connected beside everything else, their tools among the others. */
export class McpServers {
  readonly #members = new Map<string, Member>()
  readonly #parts: McpServersParts
  readonly #joined: JoinedTools
  /** Their resources and prompts. */
  readonly library: ServerLibrary

  constructor(settings: readonly McpServerSettings[], parts: McpServersParts) {
    this.#parts = parts
    this.#joined = new JoinedTools(parts.registry, parts.log)
    this.library = new ServerLibrary(() => [...this.#members.values()].map(({ connection }) => connection), parts.log)
    for (const one of settings) this.#members.set(one.name, this.#member(one))
  }

  get names(): string[] {
    return [...this.#members.keys()]
  }

  /** Begins to connect to all of them. The promise is for those who want to wait until each is there or given up. */
  async start(): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ connection }) => connection.start()))
  }

  /** Calls a tool of a server, over the connection that there is now, or that is made now. */
  call(server: string, tool: string, params: Params, context: HandlerContext): Promise<unknown> {
    const definition = this.#joined.find(server, tool)?.raw
    return this.connection(server).call({
      tool,
      arguments: params,
      signal: context.signal,
      onProgress: (progress) => context.report(progress),
      traceparent: context.traceparent,
      ...(definition && { definition }),
    })
  }

  /** The line to one server. */
  connection(server: string): McpConnection {
    const member = this.#members.get(server)
    if (member !== undefined) return member.connection
    const known = this.names.join(', ') || 'none'
    throw new ToolExecutionError('EXECUTION_ERROR', `MCP server '${server}' is not configured (known: ${known})`)
  }

  /** What a server offers, as far as it was ever connected. */
  tools(server: string): readonly ServerTool[] {
    return this.#members.get(server)?.tools ?? []
  }

  /** Looks again at the tools of pinned servers: what is approved has changed. */
  async checkPins(): Promise<void> {
    const pinned = [...this.#members.values()].filter(({ connection, tools }) => connection.settings.pin && tools)
    await Promise.all(pinned.map((member) => this.#reload(member)))
  }

  /** Takes the tools out and ends the servers. */
  async close(): Promise<void> {
    this.#joined.close()
    await Promise.all([...this.#members.values()].map(({ connection }) => connection.close()))
  }

  #member(settings: McpServerSettings): Member {
    const { log, clock, pins, authProvider, extend } = this.#parts
    const connection = new McpConnection(settings, {
      log,
      clock,
      onConnected: (client, signal) => this.#load(member, client, signal),
      onChanged: (list) => {
        if (list === 'tools') void this.#reload(member)
        else this.library.changed(list)
      },
      onGivenUp: (failure) => this.#givenUp(failure),
      authProvider: authProvider && (() => authProvider(settings)),
      extend,
    })
    const member: Member = { connection, pinned: new PinnedTools(settings, pins, log), tools: undefined }
    return member
  }

  async #load(member: Member, client: Client, signal: AbortSignal): Promise<void> {
    if (client.getServerCapabilities()?.tools === undefined) return
    const { name: server, reach } = member.connection.settings
    const mirrors = reach.type !== 'stdio' && client.getProtocolEra?.() === 'modern'
    const listed = (await listAll(client, 'tools/list', 'tools', signal)).map((entry) => serverTool(entry, server))
    const tools = new Map<string, ServerTool>()
    for (const tool of listed) {
      const problem = typeof tool === 'string' ? tool : problemOf(tool, tools, mirrors)
      if (problem) this.#parts.log.warn({ server, problem }, 'MCP tool left out')
      else if (typeof tool !== 'string') tools.set(tool.name, tool)
    }
    member.tools = await member.pinned.admit([...tools.values()], member.tools)
    this.#join()
  }

  async #reload(member: Member): Promise<void> {
    const { log, clock } = this.#parts
    const server = member.connection.settings.name
    const late = new AbortController()
    const callOff = clock.after(RELOAD_TIMEOUT, () => late.abort(new Error('it took too long')))
    try {
      await this.#load(member, await member.connection.client(late.signal), late.signal)
      log.info({ server, tools: member.tools?.length }, 'MCP tools have changed')
    } catch (error) {
      log.warn({ server, reason: String(error) }, 'MCP tools have changed and could not be listed')
    } finally {
      callOff()
    }
  }

  #join(): void {
    const offered = [...this.#members].map(([server, { tools = [] }]) => ({ server, tools }))
    this.#joined.set(offered)
  }

  #givenUp({ reason, stderr, check, server }: ConnectFailure): void {
    const { log, registry } = this.#parts
    const local = registry.definitions().filter(({ implementation }) => implementation?.type !== 'mcp')
    log.error({ server }, `MCP connection failed after ${MCP_RETRY_ATTEMPTS} attempts`)
    log.error({ server }, `Reason: ${reason}`)
    log.error({ server }, `MCP Server stderr: ${stderr}`)
    log.error({ server }, `Check: ${check}`)
    log.warn({ server }, `Continuing with local tools only (${local.map(({ name }) => name).join(', ')})`)
  }
}

function problemOf(tool: ServerTool, before: ReadonlyMap<string, unknown>, mirrors: boolean): string | undefined {
  if (before.has(tool.name)) return `The name '${tool.name}' comes twice`
  const problem = mirrors ? mirroringProblem(tool.inputSchema) : undefined
  return problem && `Tool '${tool.name}' cannot be called: ${cleanText(problem).slice(0, LONGEST_PROBLEM)}`
}

const LONGEST_PROBLEM = 300
const RELOAD_TIMEOUT = 30_000
