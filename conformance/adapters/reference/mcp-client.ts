import type { McpServer } from '../../adapter.ts'
import { HttpConnection } from './http-connection.ts'
import { StdioConnection } from './stdio-connection.ts'

/** One open connection; `request` rejects once it is lost. */
export interface Connection {
  readonly lost: boolean
  request(method: string, params: object, signal?: AbortSignal): Promise<unknown>
  close(): void
}

const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'reference', version: '1' } }

/** A client that opens its connection when it is needed, and again when it is gone. No call is ever made twice. */
export class McpClient {
  readonly #server: McpServer
  #connection: Promise<Connection> | undefined

  constructor(server: McpServer) {
    this.#server = server
  }

  async toolNames(): Promise<string[]> {
    const { tools } = (await this.#request('tools/list', {})) as { tools: { name: string }[] }
    return tools.map(({ name }) => name)
  }

  async callTool(name: string, params: unknown, signal: AbortSignal): Promise<string> {
    const { content } = (await this.#request('tools/call', { name, arguments: params }, signal)) as {
      content: { text: string }[]
    }
    return content.map(({ text }) => text).join('\n')
  }

  async close(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    connection?.then((open) => open.close())
  }

  async #request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    const open = await this.#connection?.catch(() => undefined)
    if (open === undefined || open.lost) this.#connection = this.#open()
    const connection = await this.#connection
    if (connection === undefined) throw new Error('closed')
    return await connection.request(method, params, signal)
  }

  async #open(): Promise<Connection> {
    const hello = (connection: Connection) => connection.request('initialize', HELLO)
    if ('url' in this.#server) return new HttpConnection(this.#server.url, hello)
    const connection = new StdioConnection(this.#server.command, this.#server.args)
    await hello(connection)
    return connection
  }
}
