import type { Log } from '../../core/log.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import { definitionOf, type ServerTool } from './listed-tool.ts'

/** What a server offers. */
export interface Offered {
  readonly server: string
  readonly tools: readonly ServerTool[]
}

/**
 * The tools of MCP servers in the registry. They never replace a tool of another origin or server: a bare name belongs to
 * local tools, then to the server that stands first; where it is taken, a tool joins as `<server>__<tool>`.
 */
export class JoinedTools {
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
