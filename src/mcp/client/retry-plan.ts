/** How often a connection is tried before it is given up for now, and how long is waited in between: 0, 2 s, 4 s. */
export const MCP_RETRY_ATTEMPTS = 3
export const MCP_RETRY_BASE_DELAY = 2_000

/** How long one attempt may take: a server that is installed by its own start (`npx`) needs its time. */
export const MCP_CONNECT_TIMEOUT = 30_000
/** How long a server has to say that it knows the newer protocol. */
export const MCP_PROBE_TIMEOUT = 2_000

/** After a connection was given up it is tried again: first so soon, then ever more rarely. */
export const MCP_BACKGROUND_DELAY = 30_000
export const MCP_BACKGROUND_MOST = 300_000

/** What is waited before an attempt, counted from 1. */
export const retryDelay = (attempt: number): number => (attempt === 1 ? 0 : MCP_RETRY_BASE_DELAY * 2 ** (attempt - 2))
