import { listedTools, runTool } from './mcp-tools.ts'

/** A JSON-RPC message as a client sends it; notifications have no id. */
export interface Incoming {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
}

/** The answer to a request in the protocol of 2025-06-18, which every client speaks; nothing for the rest. */
export async function answer(message: Incoming, folder: string): Promise<object | 'lost' | undefined> {
  const { id, method, params } = message
  if (id === undefined || method === undefined) return undefined
  const reply = (result: object) => ({ jsonrpc: '2.0', id, result })
  if (method === 'initialize') {
    return reply({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'conformance', version: '1.0.0' },
    })
  }
  if (method === 'ping') return reply({})
  if (method === 'tools/list') return reply({ tools: listedTools })
  if (method === 'tools/call') {
    const outcome = await runTool(String(params?.name), (params?.arguments ?? {}) as Record<string, unknown>, folder)
    if (outcome === 'lost' || outcome === undefined) return outcome
    return reply({ content: [{ type: 'text', text: outcome.text }] })
  }
  return { jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${method}` } }
}
