import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import type {
  Adapter,
  ModelCall,
  Progress,
  Reply,
  RunOptions,
  Runtime,
  ScriptedModel,
  Setup,
  Tool,
} from '../adapter.ts'
import { McpClient } from './reference/mcp-client.ts'
import { runElsewhere } from './reference/run-elsewhere.ts'

const MOST_TURNS = 10
const MOST_AT_ONCE = 8
const MOST_CHARACTERS = 1_000_000

/** The least that passes every case: shows that each can be passed, and how. */
class ReferenceRuntime implements Runtime {
  readonly #deadlineMs: number
  readonly #folder: string
  readonly #tools: ReadonlyMap<string, { tool: Tool; isValid: ValidateFunction }>
  /** Each server with the names of its tools, once it has told them. */
  readonly #servers: readonly { client: McpClient; names: Promise<string[]> }[]

  constructor({ tools, mcpServers, deadlineMs, folder }: Setup) {
    const ajv = new Ajv({ strict: false })
    this.#deadlineMs = deadlineMs
    this.#folder = folder
    this.#tools = new Map(tools.map((tool) => [tool.name, { tool, isValid: ajv.compile(tool.parameters) }]))
    this.#servers = Object.values(mcpServers).map((server) => {
      const client = new McpClient(server)
      const names = client.toolNames()
      names.catch(() => {})
      return { client, names }
    })
  }

  async call(name: string, args: string, options?: RunOptions): Promise<string> {
    return this.#waits({ name }) ? 'Error: the call needs approval' : await this.#call(name, args, options)
  }

  async run(model: ScriptedModel, options?: RunOptions): Promise<string> {
    const progress = await this.#advance(model, [], options)
    return 'text' in progress ? progress.text : 'It waits for approval.'
  }

  begin(model: ScriptedModel): Promise<Progress> {
    return this.#advance(model, [])
  }

  async decide(state: string, approve: boolean, model: ScriptedModel): Promise<Progress> {
    const file = join(this.#folder, state)
    const { calls, replies } = JSON.parse(readFileSync(file, 'utf8')) as { calls: ModelCall[]; replies: Reply[] }
    // Before the calls run, so that a second decision finds nothing.
    renameSync(file, `${file}.decided`)
    for (const { id, name, arguments: args } of calls) {
      replies.push({ id, text: approve ? await this.#call(name, args) : 'Error: the call was rejected' })
    }
    return this.#advance(model, replies)
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ client }) => client.close()))
  }

  #waits({ name }: Pick<ModelCall, 'name'>): boolean {
    return this.#tools.get(name)?.tool.needsApproval === true
  }

  /** Goes on until the last words, or until calls wait for approval. */
  async #advance(model: ScriptedModel, before: Reply[], options?: RunOptions): Promise<Progress> {
    let replies = before
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      const turn = model(replies)
      if ('text' in turn) return turn
      replies = []
      const { waiting = [], free = [] } = Object.groupBy(turn.calls, (call) => (this.#waits(call) ? 'waiting' : 'free'))
      const rest = free.entries()
      const work = async () => {
        for (const [index, call] of rest) {
          replies[index] = { id: call.id, text: await this.#call(call.name, call.arguments, options) }
        }
      }
      await Promise.all(Array.from({ length: MOST_AT_ONCE }, work))
      if (waiting.length > 0) {
        const state = `run-${randomUUID()}`
        writeFileSync(join(this.#folder, state), JSON.stringify({ calls: waiting, replies }))
        return { state }
      }
    }
    return { text: 'The limit of turns was reached.' }
  }

  async #call(name: string, args: string, { signal }: RunOptions = {}): Promise<string> {
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
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make: async (setup) => new ReferenceRuntime(setup),
}
