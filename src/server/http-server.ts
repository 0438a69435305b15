import { createServer, type RequestListener, type Server } from 'node:http'

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
const KEEP_ALIVE_TIMEOUT_MS = 72_000
const CHECK_INTERVAL_MS = 1_000
const MAX_CONNECTIONS = 10_000

/** HTTP server with header, request and idle timeouts. */
export function httpServer(listener: RequestListener): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    },
    listener,
  )
  server.maxConnections = MAX_CONNECTIONS
  return server
}
