/** How a server is spoken to; the three names in the middle are one thing, as different clients call it. */
export const MCP_SERVER_TYPES = ['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'] as const

export type McpServerType = (typeof MCP_SERVER_TYPES)[number]
