import type { Log } from '../../core/log.ts'
import { fingerprint } from './fingerprint.ts'
import type { ServerTool } from './listed-tool.ts'
import type { PinStore } from './pin-store.ts'
import type { McpServerSettings } from './server-settings.ts'

/** Watches the definitions of one server's tools: a change is reported, and refused where the server is pinned. */
export class PinnedTools {
  readonly #settings: McpServerSettings
  readonly #store: PinStore
  readonly #log: Log

  constructor(settings: McpServerSettings, store: PinStore, log: Log) {
    this.#settings = settings
    this.#store = store
    this.#log = log
  }

  /** The tools that may be used, of those that the server lists now. */
  async admit(
    listed: readonly ServerTool[],
    before: readonly ServerTool[] | undefined,
  ): Promise<readonly ServerTool[]> {
    const { name: server, pin } = this.#settings
    if (pin !== true) {
      const known = new Map(before?.map((tool) => [tool.name, fingerprint(tool)]))
      for (const tool of listed) {
        const was = known.get(tool.name)
        if (was !== undefined && was !== fingerprint(tool)) {
          this.#log.warn({ server, tool: tool.name }, 'The definition of an MCP tool has changed')
        }
      }
      return listed
    }
    const approved = await this.#store.read(server)
    if (approved === undefined) {
      // The first list is taken on trust: there is nothing to compare it with.
      await this.#store.write(server, pinsOf(listed))
      return listed
    }
    return listed.filter((tool) => this.#isApproved(tool, approved))
  }

  #isApproved(tool: ServerTool, approved: Readonly<Record<string, string>>): boolean {
    const pin = Object.hasOwn(approved, tool.name) ? approved[tool.name] : undefined
    if (pin === fingerprint(tool)) return true
    const server = this.#settings.name
    const what = pin === undefined ? 'is new' : 'has changed'
    this.#log.warn(
      { server, tool: tool.name },
      `MCP tool refused: it ${what} since the server was pinned. "toolyard mcp approve ${server}" admits it`,
    )
    return false
  }
}

/** The fingerprints to keep. */
export const pinsOf = (tools: readonly ServerTool[]): Record<string, string> =>
  Object.fromEntries(tools.map((tool) => [tool.name, fingerprint(tool)]))
