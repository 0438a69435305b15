import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../core/clock.ts'
import type { ToolServer } from '../tool-server.ts'
import { HttpHandler, type HttpHandlerOptions } from './http-handler.ts'
import { Refusal } from './refusal.ts'

export interface ServeHttpOptions extends HttpHandlerOptions {
  /** 0: any that is free. */
  readonly port: number
  readonly host?: string
}

/** A server that listens. */
export interface HttpService {
  readonly url: string
  readonly handler: HttpHandler
  close(): Promise<void>
}

const PATH = '/mcp'
const PATIENCE_MS = 1_000

/** Serves the tools at `/mcp` of a server of its own, on the local machine unless told otherwise. */
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
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, () => {
      http.off('error', reject)
      resolve()
    })
  })
  const { port: bound } = http.address() as AddressInfo
  const stop = async (): Promise<void> => {
    const ended = once(http, 'close')
    http.close()
    await handler.close()
    await allTaken(open, server.clock)
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

/** Waits until the last answers have been taken, but not for ever: a client may not read. */
function allTaken(open: ReadonlySet<ServerResponse>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    if (open.size === 0) return resolve()
    const stop = clock.after(PATIENCE_MS, resolve)
    for (const response of open) {
      response.once('close', () => {
        if (open.size > 0) return
        stop()
        resolve()
      })
    }
  })
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)
