import { Ajv, type ValidateFunction } from 'ajv'
import type { Adapter, Reply, RunOptions, Runtime, ScriptedModel, Setup, Tool } from '../adapter.ts'
import { McpClient } from './reference/mcp-client.ts'
import { runElsewhere } from './reference/run-elsewhere.ts'

const MOST_TURNS = 10
const MOST_AT_ONCE = 8
const MOST_CHARACTERS = 1_000_000

/** The least that passes every case: shows that each can be passed, and how. */
class ReferenceRuntime implements Runtime {
  readonly #deadlineMs: number
  readonly #tools: ReadonlyMap<string, { tool: Tool; isValid: ValidateFunction }>
  /** Each server with the names of its tools, once it has told them. */
  readonly #servers: readonly { client: McpClient; names: Promise<string[]> }[]

  constructor({ tools, mcpServers, deadlineMs }: Setup) {
    const ajv = new Ajv({ strict: false })
    this.#deadlineMs = deadlineMs
    this.#tools = new Map(tools.map((tool) => [tool.name, { tool, isValid: ajv.compile(tool.parameters) }]))
    this.#servers = Object.values(mcpServers).map((server) => {
      const client = new McpClient(server)
      const names = client.toolNames()
      names.catch(() => {})
      return { client, names }
    })
  }

  async call(name: string, args: string, { signal }: RunOptions = {}): Promise<string> {
    const ended = new AbortController()
    const end = (reason: string) => ended.abort(new Error(reason))
    const timer = setTimeout(end, this.#deadlineMs, `timed out after ${this.#deadlineMs} ms`)
    signal?.addEventListener('abort', () => end('cancelled'), { once: true })
    const over = new Promise<never>((_, reject) => {
      ended.signal.addEventListener('abort', () => reject(ended.signal.reason))
    })
    try {
      const result = await Promise.race([this.#perform(name, args, ended.signal), over])
      const text = typeof result === 'string' ? result : JSON.stringify(result)
      return text.length > MOST_CHARACTERS ? `Error: the result has ${text.length} characters` : text
    } catch (error) {
      return `Error: ${error instanceof Error ? error.message : error}`
    } finally {
      clearTimeout(timer)
    }
  }

  async run(model: ScriptedModel, options?: RunOptions): Promise<string> {
    let replies: Reply[] = []
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      const turn = model(replies)
      if ('text' in turn) return turn.text
      replies = []
      const rest = turn.calls.entries()
      const work = async () => {
        for (const [index, call] of rest) {
          replies[index] = { id: call.id, text: await this.call(call.name, call.arguments, options) }
        }
      }
      await Promise.all(Array.from({ length: MOST_AT_ONCE }, work))
    }
    return 'The limit of turns was reached.'
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ client }) => client.close()))
  }

  async #perform(name: string, args: string, signal: AbortSignal): Promise<unknown> {
    const params: unknown = JSON.parse(args)
    const local = this.#tools.get(name)
    if (local === undefined) return await (await this.#serverOf(name)).callTool(name, params, signal)
    if (!local.isValid(params)) throw new Error('invalid arguments')
    if (local.tool.untrusted !== undefined) return await runElsewhere(local.tool.untrusted, params, signal)
    return await local.tool.handler(params as Record<string, unknown>, signal)
  }

  /** The first server that says it has the tool: one that says nothing is not waited for. */
  async #serverOf(name: string): Promise<McpClient> {
    const has = async ({ client, names }: { client: McpClient; names: Promise<string[]> }) => {
      if ((await names).includes(name)) return client
      throw new Error('not here')
    }
    return await Promise.any(this.#servers.map(has)).catch(() => {
      throw new Error(`there is no tool '${name}'`)
    })
  }
}

export const adapter: Adapter = {
  name: 'reference',
  packages: [],
  can: ['loop', 'mcp-stdio', 'mcp-http'],
  make: async (setup) => new ReferenceRuntime(setup),
}
