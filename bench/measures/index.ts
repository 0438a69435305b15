/** Every measurement that runs in a process of its own, by the name its parent asks for. */
export const MEASURES: Readonly<Record<string, () => Promise<(options: never) => Promise<unknown>>>> = {
  direct: async () => (await import('./direct.ts')).direct,
  scale: async () => (await import('./scale.ts')).scale,
  registering: async () => (await import('./registering.ts')).registering,
  'heap-growth': async () => (await import('./heap-growth.ts')).heapGrowth,
  loop: async () => (await import('./loop.ts')).loop,
  'loop-growth': async () => (await import('./loop-growth.ts')).loopGrowth,
  'mcp-client': async () => (await import('./mcp-client.ts')).mcpClient,
  'mcp-server': async () => (await import('./mcp-server.ts')).mcpServer,
  http: async () => (await import('./http.ts')).http,
  'http-tools': async () => (await import('./http-tools.ts')).httpTools,
  openapi: async () => (await import('./openapi.ts')).openapi,
  audit: async () => (await import('./audit.ts')).audit,
  metrics: async () => (await import('./metrics.ts')).metrics,
  deadlines: async () => (await import('./deadlines.ts')).deadlines,
}
