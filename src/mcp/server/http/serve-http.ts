import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../core/clock.ts'
import type { ToolServer } from '../tool-server.ts'
import { HttpHandler, type HttpHandlerOptions, Refusal } from './http-handler.ts'

export interface ServeHttpOptions extends HttpHandlerOptions {
  /** 0 for any free port. */
  readonly port: number
  readonly host?: string
}

export interface HttpService {
  readonly url: string
  readonly handler: HttpHandler
  close(): Promise<void>
}

const PATH = '/mcp'
const CLOSE_TIMEOUT_MS = 1_000

/** Starts an HTTP server with the tools at `/mcp`, by default on the loopback address. */
export async function serveHttp(server: ToolServer, options: ServeHttpOptions): Promise<HttpService> {
  const { port, host = '127.0.0.1', hosts = [], ...rest } = options
  const handler = new HttpHandler(server, { ...rest, hosts: [bracketed(host), ...hosts] })
  const open = new Set<ServerResponse>()
  const http = createServer((request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    if (request.url?.split('?', 1)[0] === PATH) void handler.handle(request, response)
    else new Refusal(404, -32_000, `The MCP server is at ${PATH}`).answer(response)
  })
  http.listen(port, host)
  await once(http, 'listening')
  const { port: bound } = http.address() as AddressInfo
  const stop = async (): Promise<void> => {
    const ended = once(http, 'close')
    http.close()
    await handler.close()
    await allRead(open, server.clock)
    http.closeAllConnections()
    await ended
  }
  let stopped: Promise<void> | undefined
  return {
    url: `http://${bracketed(host)}:${bound}${PATH}`,
    handler,
    close() {
      stopped ??= stop()
      return stopped
    },
  }
}

/** Waits until clients have read the last responses, up to a timeout. */
async function allRead(open: ReadonlySet<ServerResponse>, clock: Clock): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(CLOSE_TIMEOUT_MS, resolve)
  const read = [...open].map((response) => new Promise<void>((done) => void response.once('close', () => done())))
  await Promise.race([Promise.all(read), late])
  cancel()
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)
