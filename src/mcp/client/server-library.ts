import type {
  Client,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/client'
import type { Log } from '../../core/log.ts'
import type { Library } from '../server/tool-server.ts'
import { listAll } from './list-all.ts'
import type { McpConnection } from './mcp-connection.ts'

/** How long one server may take to answer for its part of a list. */
const PATIENCE_MS = 10_000

type List = 'resources' | 'resourceTemplates' | 'prompts'

const METHODS = {
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const satisfies Record<List, string>

/** A prompt, whose it is, and under which name it is offered. */
interface NamedPrompt {
  readonly connection: McpConnection
  readonly prompt: Prompt
  readonly name: string
}

/** The resources and prompts of all servers that are connected, as one. What a server does not answer is left out. */
export class ServerLibrary implements Library {
  readonly #connections: () => Iterable<McpConnection>
  readonly #log: Log
  readonly #listeners = new Set<(what: 'resources' | 'prompts') => void>()

  constructor(connections: () => Iterable<McpConnection>, log: Log) {
    this.#connections = connections
    this.#log = log
  }

  async listResources(): Promise<readonly Resource[]> {
    const seen = new Set<string>()
    const all = await this.#all<Resource>('resources')
    // An address that two servers have is the first one's.
    return all.map(({ entry }) => entry).filter(({ uri }) => typeof uri === 'string' && !seen.has(uri) && seen.add(uri))
  }

  async listResourceTemplates(): Promise<readonly ResourceTemplateType[]> {
    return (await this.#all<ResourceTemplateType>('resourceTemplates')).map(({ entry }) => entry)
  }

  /** Asks the server that lists it, else each in turn: a template names no addresses. */
  async readResource(uri: string): Promise<ReadResourceResult | undefined> {
    const owners = (await this.#all<Resource>('resources')).filter(({ entry }) => entry.uri === uri)
    const asked = owners.length > 0 ? owners.map(({ connection }) => connection) : this.#live('resources')
    for (const connection of asked) {
      try {
        return await this.#ask(connection, (client, signal) => client.readResource({ uri }, { signal }))
      } catch (error) {
        if (!(await isAnswer(error))) throw error
      }
    }
    return undefined
  }

  async listPrompts(): Promise<readonly Prompt[]> {
    return (await this.#prompts()).map(({ prompt, name }) => ({ ...prompt, name }))
  }

  async getPrompt(name: string, args: Readonly<Record<string, string>>): Promise<GetPromptResult | undefined> {
    const found = (await this.#prompts()).find((one) => one.name === name)
    if (found === undefined) return undefined
    const params = { name: found.prompt.name, arguments: { ...args } }
    return this.#ask(found.connection, (client, signal) => client.getPrompt(params, { signal }))
  }

  onChange(listener: (what: 'resources' | 'prompts') => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A server has said that one of its lists is another now. */
  changed(what: 'resources' | 'prompts'): void {
    for (const listener of this.#listeners) listener(what)
  }

  async #prompts(): Promise<NamedPrompt[]> {
    const taken = new Set<string>()
    const named: NamedPrompt[] = []
    for (const { connection, entry: prompt } of await this.#all<Prompt>('prompts')) {
      if (typeof prompt.name !== 'string') continue
      const name = [prompt.name, `${connection.settings.name}__${prompt.name}`].find((one) => !taken.has(one))
      if (name === undefined) continue
      taken.add(name)
      named.push({ connection, prompt, name })
    }
    return named
  }

  async #all<Entry>(list: List): Promise<{ readonly connection: McpConnection; readonly entry: Entry }[]> {
    const lists = await Promise.all(
      this.#live(list === 'prompts' ? 'prompts' : 'resources').map(async (connection) => {
        try {
          const entries = await this.#ask(connection, (client, signal) => listAll(client, METHODS[list], list, signal))
          return entries.filter(isObject).map((entry) => ({ connection, entry: entry as Entry }))
        } catch (error) {
          this.#log.debug({ server: connection.settings.name, list, reason: String(error) }, 'MCP server did not list')
          return []
        }
      }),
    )
    return lists.flat()
  }

  #live(capability: 'resources' | 'prompts'): McpConnection[] {
    return [...this.#connections()].filter(({ capabilities }) => capabilities?.[capability] !== undefined)
  }

  async #ask<T>(connection: McpConnection, ask: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    return ask(await connection.client(signal), signal)
  }
}

/** Whether the server has answered, with an error. */
async function isAnswer(error: unknown): Promise<boolean> {
  const { callFault } = await import('./sdk-parts.ts')
  return callFault(error).kind === 'answered'
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
