import { packageVersion } from '../app/package-version.ts'
import { type StdioService, serveStdio } from '../mcp/server/serve-stdio.ts'
import { ToolServer } from '../mcp/server/tool-server.ts'
import { type AdapterOptions, adapterContext } from './adapter.ts'
import type { Rest } from './options.ts'
import type { Toolyard } from './toolyard.ts'

export type { StdioService } from '../mcp/server/serve-stdio.ts'
export type { AdapterOptions } from './adapter.ts'

/**
 * Serves the tools of an instance to one MCP client over standard input and output. Until the service is closed, what the
 * program prints goes to standard error.
 */
export function serveMcp<App>(
  // biome-ignore lint/suspicious/noExplicitAny: the tools don't matter.
  yard: Toolyard<any, App, any>,
  ...[options]: Rest<Omit<AdapterOptions, 'runId' | 'signal'>, App>
): StdioService {
  const { executor } = yard
  const effectOf = ({ name }: { name: string }) => executor.effectOf(name)
  const server = new ToolServer({ registry: executor.registry, executor, version: packageVersion(), effectOf })
  const given: AdapterOptions | undefined = options
  // There is one client, whoever it is.
  const context = { ...adapterContext('serveMcp', given), oneCaller: true, tools: given?.tools, source: 'mcp' } as const
  const service = serveStdio(server, { context })
  void service.closed.then(() => server.close())
  return service
}
