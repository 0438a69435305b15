import { resolve } from 'node:path'
import type { Environment } from '../core/expand-variables.ts'
import { redact } from '../core/redact.ts'
import { suggest } from '../core/suggest.ts'
import type { McpServerSettings } from '../mcp/client/server-settings.ts'
import type { Config } from './config.ts'
import { CONFIG_SCHEMA } from './config-schema.ts'
import { isWebAddress } from './is-web-address.ts'
import { type McpEntry, mcpEntries } from './mcp-entries.ts'
import { oauthClient, oauthKeys } from './mcp-oauth.ts'
import { expandMcpText, type McpScope } from './mcp-variables.ts'

/** What a configuration says of MCP servers, in an environment. */
export interface McpReading {
  readonly servers: McpServerSettings[]
  /** Servers that lack something, each with a sentence that says what. */
  readonly skipped: { readonly name: string; readonly problem: string }[]
  /** What is ignored, or unwise; the server is there all the same. */
  readonly warnings: { readonly name: string; readonly problem: string }[]
  /** Servers with `disabled: true`. */
  readonly disabled: string[]
}

const KNOWN = Object.keys(CONFIG_SCHEMA.properties.mcpServers.additionalProperties.properties)
/** What other clients keep in an entry, and what means nothing here; comments, too. */
const FOREIGN = new Set([
  ...['alwaysAllow', 'autoApprove', 'autoStart', 'trust', 'timeout', 'initTimeout', 'startupTimeout', 'dev'],
  ...['gallery', 'version', 'provider', 'tags', 'name', 'displayName', 'description', 'note', 'notes', 'comment'],
  ...['icon', 'iconPath', 'iconUrl'],
])
const COMMENT = /^(_|\$|\/\/|#)/
const LOST: Readonly<Record<string, string>> = {
  envFile: 'envFile is not read here: name what the server needs under env',
}

/** The servers to connect to, with every variable replaced. The configuration has been checked. */
export function readMcpServers(config: Config, env: Environment, folder = process.cwd()): McpReading {
  const reading: McpReading = { servers: [], skipped: [], warnings: [], disabled: [] }
  const scope: McpScope = { env, inputs: config.inputs ?? [], folder }
  for (const entry of mcpEntries(config)) {
    const { name, server } = entry
    if (server.disabled === true) {
      reading.disabled.push(name)
      continue
    }
    for (const problem of warningsOf(entry)) reading.warnings.push({ name, problem })
    const problems: string[] = []
    const settings = settingsOf(entry, scope, problems)
    if (problems.length === 0) reading.servers.push(settings)
    else reading.skipped.push({ name, problem: problems.join('. ') })
  }
  return reading
}

function settingsOf({ name, place, server }: McpEntry, scope: McpScope, problems: string[]): McpServerSettings {
  const filled = (text: string, key: string, taken: RegExp): string => {
    const expanded = expandMcpText(text, scope)
    for (const problem of expanded.problems) problems.push(`${place}.${key}: ${problem}`)
    // The value may be a secret, and is not shown.
    if (!taken.test(expanded.text)) problems.push(`${place}.${key} holds a character that cannot be passed on`)
    return expanded.text
  }
  const each = (values: Readonly<Record<string, unknown>> = {}, key: string, taken: RegExp) =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([, value]) => value !== null)
        .map(([one, value]) => [one, filled(String(value), `${key}.${one}`, taken)]),
    )
  const { type, command, args = [], env, cwd, url = '', headers, oauth, pin, check } = server
  const more = { name, ...(pin !== undefined && { pin }), ...(check !== undefined && { check }) }
  if (command !== undefined) {
    const reach = {
      type: 'stdio' as const,
      command: filled(command, 'command', NO_NUL),
      args: args.map((arg, index) => filled(arg, `args[${index}]`, NO_NUL)),
      env: each(env, 'env', NO_NUL),
      cwd: cwd === undefined ? scope.folder : resolve(scope.folder, filled(cwd, 'cwd', NO_NUL)),
    }
    return { ...more, reach }
  }
  const before = problems.length
  const address = filled(url, 'url', NO_NUL)
  if (problems.length === before && !isWebAddress(address)) {
    problems.push(`${place}.url is no http or https address: check the variables in it`)
  }
  const how = type === undefined ? 'auto' : type === 'sse' ? 'sse' : 'http'
  const client = oauth?.client_id && oauthClient(each(oauthKeys(oauth), 'oauth', NO_NUL))
  if (typeof client === 'string') problems.push(`${place}.oauth: ${client}`)
  const reach = { type: how, url: address, headers: each(headers, 'headers', HEADER_VALUE) } as const
  return { ...more, reach: typeof client === 'object' ? { ...reach, oauth: client } : reach }
}

/** What a program can be started with. */
const NO_NUL = /^[^\0]*$/
/** What a header can hold: `fetch` would show the whole value in its complaint. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

function warningsOf({ place, server }: McpEntry): string[] {
  const odd = Object.keys(server)
    .filter((key) => !KNOWN.includes(key) && !FOREIGN.has(key) && !COMMENT.test(key))
    .map((key) => `${place}: ${LOST[key] ?? unknown(key)}`)
  const { env, headers, oauth } = server
  if (oauth !== undefined && oauth.client_id === undefined) {
    odd.push(`${place}.oauth is ignored: it has no client_id`)
  } else if ((oauth?.client_secret ?? oauth?.private_key) !== undefined && oauth?.issuer === undefined) {
    odd.push(`${place}.oauth names no issuer: its secret goes to whichever authorization server the server names`)
  }
  const secrets = Object.entries({ env, headers, oauth: { ...oauth } }).flatMap(([key, values = {}]) =>
    Object.entries(values)
      .filter(([name, value]) => typeof value === 'string' && !value.includes('${') && isSecret(name, value))
      .map(([name]) => `${place}.${key}.${name} holds a secret itself: put that into an environment variable`),
  )
  return [...odd, ...secrets]
}

function unknown(key: string): string {
  const [near] = suggest(key, KNOWN)
  return `unknown key '${key}' is ignored${near === undefined ? '' : `: did you mean '${near}'?`}`
}

const isSecret = (name: string, value: string): boolean =>
  value !== '' && JSON.stringify(redact({ [name]: value })) !== JSON.stringify({ [name]: value })
