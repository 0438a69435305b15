import { createServer, type Server, type ServerResponse } from 'node:http'
import { TextRequest } from './execute/text-request.ts'

const HEADERS_MS = 10_000
const REQUEST_MS = 60_000
/** How long a connection may do nothing. */
export const KEEP_ALIVE_MS = 72_000
const CHECK_MS = 1_000
const MOST_CONNECTIONS = 10_000

/** A server that gives nobody for ever: not for headers, not for a request, not for doing nothing. */
export function httpServer(listener: (request: TextRequest, response: ServerResponse) => void): Server {
  const server = createServer(
    {
      IncomingMessage: TextRequest,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_MS,
    },
    listener,
  )
  server.maxConnections = MOST_CONNECTIONS
  return server
}
