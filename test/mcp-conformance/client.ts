// What the conformance suite starts: our client, with one server at the address that stands last on the command line.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { silentLog, ToolExecutor, ToolHandlers, ToolRegistry } from 'toolyard'
import { readMcpServers } from '../../src/config/mcp-settings.ts'
import { systemClock } from '../../src/core/clock.ts'
import { kinds } from '../../src/kinds/kinds.ts'
import { mcpKind } from '../../src/kinds/mcp-kind.ts'
import { ConnectFailure } from '../../src/mcp/client/failures.ts'
import { McpServers } from '../../src/mcp/client/mcp-servers.ts'
import { PinFile } from '../../src/mcp/client/pinned-tools.ts'
import type { McpServerSettings } from '../../src/mcp/client/server-settings.ts'
import { logIn } from '../../src/mcp/oauth/log-in.ts'
import { serverAuthorization } from '../../src/mcp/oauth/server-authorization.ts'
import { tokenFile } from '../../src/mcp/oauth/token-file.ts'
import { callsOf, configOf } from './client-scenario.ts'

const MOST_LOGINS = 3

const url = process.argv.at(-1) ?? ''
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const log = silentLog
const clock = systemClock
const { signal } = new AbortController()
const folder = await mkdtemp(join(tmpdir(), 'toolyard-conformance-'))
const file = tokenFile(folder, clock)
const { servers, skipped } = readMcpServers(configOf(url, scenario, context), process.env)
const [settings] = servers
let logins = 0
try {
  if (settings === undefined) throw new Error(skipped[0]?.problem)
  await callAll(settings)
} catch (error) {
  console.error(String(error))
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Connects, and calls what the scenario wants called; where the server wants somebody to log in, they do. */
async function callAll(settings: McpServerSettings): Promise<void> {
  const registry = new ToolRegistry({ log })
  const authProvider = async (one: McpServerSettings) => serverAuthorization(one, file)
  const parts = { registry, log, clock, pins: new PinFile(folder), authProvider, extend: answerQuestions }
  const mcp = new McpServers([settings], parts)
  const executor = new ToolExecutor(registry, {
    kinds: kinds(new ToolHandlers(), { mcp: mcpKind({ servers: mcp, log }) }),
    log,
  })
  try {
    await mcp.connection(settings.name).client(signal)
    for (const { name, args } of callsOf(registry.definitions(), context)) {
      let result = await executor.execute(name, args)
      if (!result.success && (await visited(settings))) result = await executor.execute(name, args)
      console.error(name, JSON.stringify(result))
    }
    await mcp.library.listResources()
    await mcp.library.listPrompts()
  } catch (error) {
    if (!(error instanceof ConnectFailure) || !(await visited(settings))) throw error
    return callAll(settings)
  } finally {
    await mcp.close()
  }
}

/** Logs in as somebody at a terminal does whose browser says yes at once; says whether that was needed. */
async function visited(settings: McpServerSettings): Promise<boolean> {
  const { reach } = settings
  if (reach.type === 'stdio' || logins++ === MOST_LOGINS) return false
  const visit = (address: string) => void fetch(address).catch(() => {})
  try {
    return (await logIn({ ...settings, reach }, new URL(url).href, { file, log, clock, signal }, visit)) === 'done'
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error
    return visited(settings)
  }
}

/** Nothing in Toolyard answers a server's questions; the scenarios about these have them answered here. */
function answerQuestions(client: Client): void {
  if (!/^elicitation-|^sep-2322-/.test(scenario)) return
  client.registerCapabilities({ elicitation: { form: { applyDefaults: true } } })
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
}
