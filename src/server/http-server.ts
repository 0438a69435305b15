import { createServer, type RequestListener, type Server } from 'node:http'

const HEADERS_MS = 10_000
const REQUEST_MS = 60_000
const KEEP_ALIVE_MS = 72_000
const CHECK_MS = 1_000
const MOST_CONNECTIONS = 10_000

/** A server that gives nobody for ever: not for headers, not for a request, not for doing nothing. */
export function httpServer(listener: RequestListener): Server {
  const server = createServer(
    {
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
