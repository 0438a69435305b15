import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { packageOf } from '../../core/execution/tool-view.ts'
import type { Log } from '../../core/log.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { definitionOf, type ServerTool } from './listed-tool.ts'
import { type NameOwners, NamePrefixes, ownerOf, prefixed, type ToolNames, type Wanted } from './tool-names.ts'

/** The tools of one server. */
export interface Offered {
  readonly server: string
  readonly tools: readonly ServerTool[]
  /** Whether its first attempt to connect is over. Until then, later servers can't claim names: it may list the same. */
  readonly settled: boolean
}

interface JoinedParts {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly names: ToolNames
  /** All servers of the configuration, also those that can't be used. */
  readonly configured: readonly string[]
  /** If they are known already. */
  readonly owners?: NameOwners | undefined
}

type Named = ReadonlyMap<string, { readonly server: string; readonly tool: ServerTool }>

/** Of one server, so that it can't fill the store. */
export const MAX_PLAIN_NAMES = 5_000

/**
 * Registers the tools of MCP servers. A plain name belongs to local tools first, then to the server that had it first, also
 * while that server is away. A name that starts with `<server>__` belongs to that server. Tools that can't have their plain
 * name, or not yet, are registered as `<server>__<tool>`.
 */
export class JoinedTools {
  readonly #parts: JoinedParts
  readonly #prefixes: NamePrefixes
  readonly #joined = new Map<string, { readonly definition: ToolDefinition; readonly tool: ServerTool }>()
  readonly #told = new Set<string>()
  readonly #stopListening: () => void
  #owners: NameOwners | undefined
  #offered: readonly Offered[] = []
  #update: Promise<void> = Promise.resolve()
  #arranging = false
  #queued = false

  constructor(parts: JoinedParts) {
    this.#parts = parts
    this.#owners = parts.owners
    this.#prefixes = new NamePrefixes(parts.configured)
    this.#stopListening = parts.registry.onChange(() => this.#arrangeSoon())
  }

  /** Undefined until they were read. */
  get owners(): NameOwners | undefined {
    return this.#owners
  }

  /** Updates the registry. Earlier servers have precedence. Rejects if the names can't be claimed. */
  set(offered: readonly Offered[]): Promise<void> {
    this.#offered = offered
    // After a reload, the tools of connected servers are there at once.
    if (this.#owners !== undefined) this.#arrange()
    this.#update = this.#update.catch(() => {}).then(() => this.#claim())
    return this.#update
  }

  find(server: string, tool: string): ServerTool | undefined {
    return this.#offered.find((one) => one.server === server)?.tools.find(({ name }) => name === tool)
  }

  close(): void {
    this.#stopListening()
    this.#offered = []
    this.#arrange()
  }

  /** Local tools that are added or removed take or free names. */
  #arrangeSoon(): void {
    if (this.#arranging || this.#queued) return
    this.#queued = true
    queueMicrotask(() => {
      this.#queued = false
      this.set(this.#offered).catch((err: unknown) => {
        this.#parts.log.warn({ err }, 'The names of MCP tools could not be claimed')
      })
    })
  }

  async #claim(): Promise<void> {
    const { names, configured } = this.#parts
    this.#owners ??= await names.read()
    const before = this.#owners
    const { wanted } = this.#name()
    if (wanted.size > 0) {
      this.#owners = await names.claim(wanted, configured)
      this.#warnOfFormer(wanted, before, this.#owners)
    }
    this.#arrange()
  }

  /** What is configured for a name, or for names with a prefix, now applies to the tool of another server. */
  #warnOfFormer(wanted: Wanted, before: NameOwners, now: NameOwners): void {
    const { configured, log } = this.#parts
    const servers = new Set([...before.values()].flat())
    const former = new NamePrefixes([...servers].filter((server) => !configured.includes(server)))
    for (const [name, server] of wanted) {
      const was = before.get(name)?.at(-1) ?? former.ownerOf(name)
      if (was === undefined || ownerOf(now, name, configured) !== server) continue
      const fields = { server, tool: name, before: was }
      log.warn(fields, 'The MCP tool has the name of a tool of a server that was removed')
    }
  }

  #arrange(): void {
    const { registry } = this.#parts
    this.#arranging = true
    try {
      const { named } = this.#name()
      for (const [name, { definition }] of this.#joined) {
        const next = named.get(name)
        if (next !== undefined && this.#isSame(name, next.server, next.tool)) continue
        if (registry.get(name) === definition) registry.unregister(name)
        this.#joined.delete(name)
      }
      for (const [name, { server, tool }] of named) {
        if (this.#joined.has(name)) continue
        const definition = definitionOf(tool, server, name)
        try {
          registry.register(definition)
          this.#joined.set(name, { definition, tool })
        } catch (error) {
          // The fault of one tool is not that of the others.
          this.#tell(server, name, { problem: (error as Error).message })
        }
      }
    } finally {
      this.#arranging = false
    }
  }

  #isSame(name: string, server: string, tool: ServerTool): boolean {
    const joined = this.#joined.get(name)
    return joined?.tool === tool && joined.definition.implementation.server === server
  }

  /** The tools by their names, and the names to claim. A tool gets a claimed name only when the claim has succeeded. */
  #name(): { readonly named: Named; readonly wanted: Wanted } {
    const named = new Map<string, { readonly server: string; readonly tool: ServerTool }>()
    const wanted = new Map<string, string>()
    const counts = this.#counts()
    let isFinal = true
    for (const { server, tools, settled } of this.#offered) {
      isFinal &&= settled
      for (const tool of tools) {
        const own = prefixed(server, tool.name)
        const taken = named.get(tool.name)?.server ?? wanted.get(tool.name)
        const owner = taken ?? this.#holder(tool.name)
        const count = counts.get(server) ?? 0
        const isWanted = owner === undefined && isFinal && count < MAX_PLAIN_NAMES
        if (isWanted) {
          wanted.set(tool.name, server)
          counts.set(server, count + 1)
        }
        // Until its name is claimed, the tool keeps the prefixed name that it has, but doesn't get one.
        if (isWanted && !this.#isSame(own, server, tool)) continue
        if (taken === undefined && owner === server) named.set(tool.name, { server, tool })
        else if (!named.has(own) && this.#holder(own) === server) named.set(own, { server, tool })
        else if (isFinal || owner !== undefined) this.#leaveOut(server, tool.name, owner)
      }
    }
    return { named, wanted }
  }

  #counts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const server of [...(this.#owners?.values() ?? [])].flat()) counts.set(server, (counts.get(server) ?? 0) + 1)
    return counts
  }

  /** The server that a name belongs to, `LOCAL` for a tool that isn't of a server, or undefined. */
  #holder(name: string): string | undefined {
    const { registry, configured } = this.#parts
    const registered = registry.get(name)
    const isOurs = registered !== undefined && registered === this.#joined.get(name)?.definition
    const isPackaged = packageOf(registered) !== undefined
    if (registered === undefined ? registry.isAlias(name) : !isOurs && !isPackaged) return LOCAL
    const owner = this.#prefixes.ownerOf(name) ?? ownerOf(this.#owners ?? NOBODY, name, configured)
    // A tool of a package gives way to the server that had its name before, not to others.
    return owner ?? (isPackaged ? LOCAL : undefined)
  }

  #leaveOut(server: string, tool: string, owner: string | undefined): void {
    const reason =
      owner === undefined
        ? `the server has ${MAX_PLAIN_NAMES} other names`
        : `its name belongs to ${owner === LOCAL ? 'another tool' : `MCP server '${owner}'`}`
    const problem = `Tool '${tool}' of MCP server '${server}' was left out: ${reason}, and it can't have '${prefixed(server, tool)}'. Rename the tool or the server`
    this.#tell(server, tool, { owner, problem })
  }

  /** Once. */
  #tell(server: string, tool: string, why: { readonly owner?: string | undefined; readonly problem: string }): void {
    const key = JSON.stringify([server, tool, why])
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.#parts.log.warn({ server, tool, ...why }, 'MCP tool left out')
  }
}

const NOBODY: NameOwners = new Map()

/** In place of a server: no server has an empty name. */
const LOCAL = ''
