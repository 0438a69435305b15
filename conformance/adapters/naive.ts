import { type ChildProcess, spawn } from 'node:child_process'
import type { Adapter, McpServer, Progress, Runtime, ScriptedModel, Setup } from '../adapter.ts'

type Send = (method: string, params: object) => Promise<unknown>

/** What one writes on the first afternoon: right as long as nothing goes wrong. Fails every case. */
class NaiveRuntime implements Runtime {
  readonly #setup: Setup
  readonly #children: ChildProcess[] = []
  readonly #servers = new Map<string, Send>()

  constructor(setup: Setup) {
    this.#setup = setup
  }

  async connect(): Promise<this> {
    const connecting = Object.values(this.#setup.mcpServers).map(async (server) => {
      const send = 'url' in server ? sendOverHttp(server.url) : this.#spawn(server)
      await send('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'naive' } })
      const { tools } = (await send('tools/list', {})) as { tools: { name: string }[] }
      for (const { name } of tools) this.#servers.set(name, send)
    })
    await Promise.all(connecting)
    return this
  }

  async call(name: string, args: string): Promise<string> {
    const params = JSON.parse(args) as Record<string, unknown>
    const send = this.#servers.get(name)
    if (send !== undefined) return JSON.stringify(await send('tools/call', { name, arguments: params }))
    const tool = this.#setup.tools.find((each) => each.name === name)
    if (tool === undefined) throw new Error(`unknown tool ${name}`)
    return String(await tool.handler(params, undefined))
  }

  async run(model: ScriptedModel): Promise<string> {
    const progress = await this.begin(model)
    return 'text' in progress ? progress.text : 'It waits for approval.'
  }

  /** Asks once for each tool, and begins again when it was approved. */
  async begin(model: ScriptedModel, approved?: string): Promise<Progress> {
    const waits = (name: string) => this.#setup.tools.find((tool) => tool.name === name)?.needsApproval === true
    let turn = model([])
    while ('calls' in turn) {
      const asks = turn.calls.find(({ name }) => waits(name) && name !== approved)
      const free = turn.calls.filter((call) => call !== asks)
      const work = free.map(async (call) => ({ id: call.id, text: await this.call(call.name, call.arguments) }))
      const replies = await Promise.all(work)
      if (asks !== undefined) return { state: asks.name }
      turn = model(replies)
    }
    return turn
  }

  async decide(state: string, approve: boolean, model: ScriptedModel): Promise<Progress> {
    return approve ? await this.begin(model, state) : { text: '' }
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill()
  }

  #spawn({ command, args }: Extract<McpServer, { command: string }>): Send {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#children.push(child)
    const waiting = new Map<number, (result: unknown) => void>()
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { id, result } = JSON.parse(line) as { id: number; result: unknown }
        waiting.get(id)?.(result)
      }
    })
    let id = 0
    return (method, params) => {
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
      return new Promise((resolve) => waiting.set(id, resolve))
    }
  }
}

function sendOverHttp(url: string): Send {
  let session = ''
  let id = 0
  const post = async (body: string, attempts: number): Promise<Response> => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== '' && { 'mcp-session-id': session }),
    }
    try {
      return await fetch(url, { method: 'POST', headers, body })
    } catch (error) {
      if (attempts === 0) throw error
      return await post(body, attempts - 1)
    }
  }
  return async (method, params) => {
    const response = await post(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }), 2)
    session ||= response.headers.get('mcp-session-id') ?? ''
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
    return result ?? error
  }
}

export const adapter: Adapter = {
  name: 'naive',
  packages: [],
  can: ['loop', 'mcp-stdio', 'mcp-http', 'approval'],
  make: (setup) => new NaiveRuntime(setup).connect(),
}
