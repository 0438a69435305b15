import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from 'toolyard'
import { onTestFinished } from 'vitest'
import { configured } from './yard.ts'

/** What an API got. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answer = (response: ServerResponse, received: Received, times: number) => void

/** An API on this machine that keeps what it is asked, and answers with what it got unless the scenario says otherwise. */
export async function api(
  answer: Answer = (response, { method, path, query }) => json(response, { method, path, query }),
) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const url = new URL(request.url ?? '/', 'http://api')
    const { method = '', headers } = request
    const one = { method, path: url.pathname, query: Object.fromEntries(url.searchParams), headers, body }
    received.push(one)
    answer(response, one, received.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

/** Answers with a value. */
export function json(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** The definition of an HTTP tool; its parameters are all texts. */
export const httpTool = (
  name: string,
  implementation: object,
  parameters: readonly string[] = [],
  more: object = {},
) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object', properties: Object.fromEntries(parameters.map((one) => [one, { type: 'string' }])) },
  implementation: { type: 'http', ...implementation },
  ...more,
})

/** A yard whose HTTP tools may reach this machine, and nothing else inside. */
export const httpYard = (
  tools: readonly object[],
  env: Readonly<Record<string, string>> = {},
  http: Config['http'] = { allow_private: ['127.0.0.1/32'] },
) => configured(tools, { env, config: { http } })
