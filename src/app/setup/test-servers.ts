import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Config } from '../../config/config.ts'
import { readMcpServers } from '../../config/mcp-settings.ts'
import type { Clock } from '../../core/clock.ts'
import { type Environment, expandVariables, secretVariable } from '../../core/environment.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import { redactText } from '../../core/records/redact.ts'
import { AddressRules } from '../../kinds/http/network/address-rules.ts'
import { ConnectFailure } from '../../mcp/client/failures.ts'
import { McpServers } from '../../mcp/client/mcp-servers.ts'
import type { McpServerConfig, McpServerSettings } from '../../mcp/client/server-settings.ts'
import type { Secrets } from '../secrets.ts'
import type { NewSecret } from './references.ts'
import { SetupError } from './setup-error.ts'

const TIMEOUT_MS = 20_000
const MAX_TOOLS = 200
const MAX_TEXT = 500

export interface TestedServer {
  readonly name: string
  readonly transport: 'stdio' | 'http' | 'sse'
  readonly ok: boolean
  readonly tools: readonly { readonly name: string; readonly description: string }[]
  /** How many tools aren't listed. */
  readonly more?: number
  readonly error?: string
}

interface TestParts {
  readonly config: Config
  readonly env: Environment
  readonly clock: Clock
  readonly secrets: readonly NewSecret[]
  /** Whether servers may be at private addresses. */
  readonly mayBePrivate: boolean
  readonly signal: AbortSignal
}

/** Connects to each server once, lists its tools, and closes the connection. */
export async function testServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  parts: TestParts,
): Promise<TestedServer[]> {
  const env = { ...parts.env, ...secretEnvironment(parts.secrets) }
  const { servers: settings, skipped } = readNew(servers, parts.config, env)
  const tested = settings.map((one) => testServer(one, parts))
  const unread = skipped.map(({ name, problem }) => ({ ...UNTESTED, name, error: problem }))
  return [...(await Promise.all(tested)), ...unread]
}

/** Reads servers that aren't configured yet. */
function readNew(servers: Readonly<Record<string, McpServerConfig>>, config: Config, env: Environment) {
  const { http, connections, inputs } = config
  const part = { ...(http && { http }), ...(connections && { connections }), ...(inputs && { inputs }) }
  return readMcpServers({ ...part, mcpServers: withVariables(servers) }, env)
}

/** References to secrets as the loader replaces them. */
export const withVariables = <Part extends object>(part: Part): Part =>
  JSON.parse(JSON.stringify(part).replace(/\$\{secret:(\w+)\}/g, (_, name) => `\${${secretVariable(name)}}`))

const UNTESTED = { transport: 'http', ok: false, tools: [] } as const

/** The variables for secrets that aren't stored yet. */
export const secretEnvironment = (secrets: readonly NewSecret[]): Environment =>
  Object.fromEntries(secrets.map(({ name, value }) => [secretVariable(name), value]))

async function testServer(settings: McpServerSettings, parts: TestParts): Promise<TestedServer> {
  const { clock, signal } = parts
  const { name } = settings
  const transport = settings.reach.type === 'auto' ? 'http' : settings.reach.type
  const servers = new McpServers([await guarded(settings, parts)], {
    ...{ registry: new ToolRegistry(), log: silentLog, clock },
    pins: { read: async () => undefined, write: async () => {} },
  })
  const late = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    // The guard of the connection refuses them, too, and doesn't say so.
    if (settings.reach.type !== 'stdio' && !parts.mayBePrivate) await checkAddresses([settings.reach.url], parts.config)
    await servers.connection(name).client(late)
    const tools = servers.tools(name)
    const shown = tools.slice(0, MAX_TOOLS).map(({ name: tool, description }) => ({
      name: tool,
      description: redactText(description ?? '', MAX_TEXT),
    }))
    return {
      name,
      transport,
      ok: true,
      tools: shown,
      ...(tools.length > MAX_TOOLS && { more: tools.length - MAX_TOOLS }),
    }
  } catch (error) {
    return { name, transport, ok: false, tools: [], error: failureOf(error, late, parts.secrets) }
  } finally {
    await servers.close()
  }
}

function failureOf(error: unknown, late: AbortSignal, secrets: readonly NewSecret[]): string {
  if (late.aborted) return `It has not answered within ${TIMEOUT_MS / 1_000} s`
  const { reason, stderr } = error instanceof ConnectFailure ? error : { reason: (error as Error).message, stderr: '' }
  const output = stderr === '' ? '' : `. Its output: ${stderr}`
  let text = `${reason}${output}`
  for (const { value } of secrets) text = text.replaceAll(value, '[redacted]')
  return redactText(text, MAX_TEXT)
}

/** On a server with keys, a stranger may have written the address. */
async function guarded(settings: McpServerSettings, { config, mayBePrivate }: TestParts): Promise<McpServerSettings> {
  const { reach } = settings
  if (reach.type === 'stdio' || mayBePrivate) return settings
  const [{ guardedFetch }, { boundedFetch }] = await Promise.all([
    import('../../kinds/http/network/guarded-agent.ts'),
    import('../../mcp/client/bounded-fetch.ts'),
  ])
  return { ...settings, reach: { ...reach, fetch: boundedFetch(guardedFetch(undefined, config.http?.allow_private)) } }
}

/**
 * The addresses that the server would connect to for a part of `config`, except those of tools, which are checked with each
 * request. `env` has the values of new secrets: an address can be one of them.
 */
export function addressesOf(part: Config, config: Config, env: Environment): string[] {
  const { mcpServers = {}, servers = {}, providers = {}, approvals, alerts } = part
  // Without the rest: a server that is disabled, or lacks a secret for a header, may be used later.
  const urls = [...Object.values(mcpServers), ...Object.values(servers)].flatMap(({ command, url }) =>
    command === undefined && url !== undefined ? [{ url }] : [],
  )
  const { servers: settings } = readNew(Object.fromEntries(urls.entries()), config, env)
  const others = [
    ...Object.values(providers).map(({ base_url }) => base_url),
    approvals?.webhook?.url,
    alerts?.webhook?.url,
  ]
  return [
    ...settings.flatMap(({ reach }) => (reach.type === 'stdio' ? [] : [reach.url])),
    ...others.flatMap((text) => (text === undefined ? [] : [expandVariables(text, env).text])),
  ]
}

/** Refuses addresses of this machine and its network. */
export async function checkAddresses(addresses: readonly string[], { http }: Config): Promise<void> {
  const rules = new AddressRules(http?.allow_private)
  for (const address of addresses) {
    const host = URL.parse(address)?.hostname.replace(/^\[|\]$/g, '')
    // Doesn't show the value: it may be a secret.
    if (!host) throw new SetupError(422, 'An address of the change is not an http or https address')
    const found = isIP(host) === 0 ? await lookup(host, { all: true }).catch(() => []) : [{ address: host }]
    const what = found.map((one) => rules.refusal(one.address)).find((one) => one !== undefined)
    if (what === undefined) continue
    const fix = 'if the server is meant to reach it, let the operator add its address to http.allow_private'
    throw new SetupError(422, `The host '${host}' was refused: it is, or resolves to, ${what}: ${fix}`)
  }
}

/** The addresses of a configuration, with the stored secrets or others, that the one in use doesn't have. */
export async function newAddresses(
  { secrets, env }: { readonly secrets: Pick<Secrets, 'variables'>; readonly env: Environment },
  used: Config,
  next: Config,
  others: Environment = {},
): Promise<string[]> {
  // The server may not have read the last secrets yet.
  const stored = { ...env, ...(await secrets.variables()) }
  const known = new Set(addressesOf(used, used, stored))
  return addressesOf(next, next, { ...stored, ...others }).filter((address) => !known.has(address))
}
