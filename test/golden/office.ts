import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

interface Message {
  readonly id?: number
  readonly method: string
  readonly params: { readonly protocolVersion?: string; readonly arguments?: object }
}

const FIND = {
  name: 'find',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  annotations: { readOnlyHint: true },
}

/** By method: what the MCP server answers. */
const answers = (description: string): Readonly<Record<string, (params: Message['params']) => object>> => ({
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: 'pages', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ ...FIND, description }] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] }),
  'resources/list': () => ({ resources: [{ uri: 'page://1', name: 'one' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'page://{id}', name: 'page' }] }),
  'resources/read': () => ({ contents: [{ uri: 'page://1', mimeType: 'text/plain', text: 'The first page' }] }),
  'prompts/list': () => ({ prompts: [{ name: 'summarize', description: 'Summarizes a page' }] }),
})

export type Office = Awaited<ReturnType<typeof openOffice>>

/** The services that a project uses: an MCP server at /mcp, and a provider at /v1, whose models fail. */
export async function openOffice() {
  let description = 'Finds pages.'
  const server = createServer(async (request, response) => {
    const answer = (status: number, body?: object) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(body && JSON.stringify(body))
    }
    if (request.url === '/v1/models') return answer(200, { data: [{ id: 'small' }, { id: 'large' }] })
    if (request.url?.startsWith('/v1/')) return answer(400, { error: { message: 'The model is resting' } })
    if (request.url !== '/mcp') return answer(404)
    if (request.method !== 'POST') return answer(405)
    const { id, method, params } = (await json(request)) as Message
    if (id === undefined) return answer(202)
    const result = answers(description)[method]?.(params)
    answer(200, { jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'Unknown' } }) })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  /** Another description of the tool of the MCP server. */
  const change = () => {
    description = 'Finds pages and notes.'
  }
  return { url: `http://127.0.0.1:${port}`, change, close }
}
