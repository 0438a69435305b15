import { createPrivateKey } from 'node:crypto'
import { homedir } from 'node:os'
import { basename, resolve, sep } from 'node:path'
import { type Environment, missingVariable, SOURCED_ELSEWHERE, variableIn } from '../core/environment.ts'
import { ownValue } from '../core/json/json-type.ts'
import { redact } from '../core/records/redact.ts'
import { pathText } from '../core/schema/explanation.ts'
import { suggest } from '../core/suggest.ts'
import { isSecretKey, type Place, publicText } from '../kinds/http/definition/public-text.ts'
import {
  type HttpReach,
  MAX_TIMER_MS,
  MCP_OAUTH_SCHEMA,
  MCP_SERVERS_SCHEMA,
  type McpInput,
  type McpOAuthConfig,
  type McpServerConfig,
  type McpServerSettings,
  type OAuthClientSettings,
} from '../mcp/client/server-settings.ts'
import type { Config } from './config.ts'
import { connectionProblem } from './connection-config.ts'
import { isWebAddress } from './model-settings.ts'

interface McpScope {
  readonly env: Environment
  readonly inputs: readonly McpInput[]
  /** The workspace folder of editors: here the current folder. */
  readonly folder: string
  /** `http.allow_private`. */
  readonly allowPrivate: readonly string[] | undefined
  readonly connections: Config['connections']
}

const VARIABLE = /\$\{([^{}]+)\}/g
const FROM_ENVIRONMENT = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s
/** Only VS Code can resolve these. */
const EDITORS_OWN = /^(command|config):/

/**
 * Replaces `${VAR}`, `${env:VAR}`, `${VAR:-default}`, `${input:id}` and the folders that editors define. Any other
 * `${…}` is left to the shell. `problems` never contains a value.
 */
function expandMcpText(text: string, scope: McpScope): { readonly text: string; readonly problems: string[] } {
  const problems: string[] = []
  const expanded = text.replaceAll(VARIABLE, (whole, inside: string) => {
    const found = lookUp(inside, scope)
    if (found === undefined) return whole
    if ('problem' in found) problems.push(found.problem)
    return 'value' in found ? found.value : ''
  })
  return { text: expanded, problems }
}

type Found = { readonly value: string } | { readonly problem: string }

function lookUp(inside: string, scope: McpScope): Found | undefined {
  const place = placeCalled(inside, scope)
  if (place !== undefined) return { value: place }
  if (inside.startsWith('input:')) return inputCalled(inside.slice('input:'.length), scope)
  if (EDITORS_OWN.test(inside)) return { problem: `\${${inside}} works only in an editor: write its value instead` }
  if (/^(file|cmd|secret):/.test(inside)) return { problem: SOURCED_ELSEWHERE }
  const [, name, fallback] = FROM_ENVIRONMENT.exec(inside) ?? []
  if (name === undefined) return undefined
  const value = variableIn(scope.env, name) ?? fallback
  if (value !== undefined) return { value }
  return { problem: missingVariable(name, `: set it, or write \${${name}:-} for an empty one`) }
}

/** Undefined for the folders that editors define, and for what is left to the shell. */
function variableCalled(inside: string, scope: McpScope) {
  if (placeCalled(inside, scope) !== undefined) return undefined
  if (inside.startsWith('input:')) {
    const id = inside.slice('input:'.length)
    const found = inputCalled(id, scope)
    const isPassword = scope.inputs.some((input) => input.id === id && input.password === true)
    const name = id.replaceAll('-', '_')
    return { name: inside, value: foundValue(found), isSecret: isPassword || isSecretKey(name) }
  }
  const [, name, fallback] = FROM_ENVIRONMENT.exec(inside) ?? []
  if (name === undefined) return undefined
  return { name, value: variableIn(scope.env, name) ?? fallback, isSecret: isSecretKey(name) }
}

const foundValue = (found: Found): string | undefined => ('value' in found ? found.value : undefined)

/** Which server it is, and what it runs with. */
function identityOf({ server }: McpEntry, scope: McpScope): unknown {
  const { type, command, args = [], env, cwd, url, headers, oauth, auth, parameter_names } = server
  const shown = (text: string, place: Place, isSecret = false) =>
    publicText(text, { parts: text.split(VARIABLE), place, isSecret, find: (inside) => variableCalled(inside, scope) })
  const each = (values: Readonly<Record<string, unknown>> = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, shown(String(value), 'text', isSecretKey(name))]),
    )
  return {
    ...{ isSse: type === 'sse', auth, parameter_names },
    command: command && shown(command, 'command'),
    cwd: cwd && shown(cwd, 'command'),
    url: url && shown(url, 'address'),
    args: args.map((arg) => shown(arg, 'argument')),
    env: each(env),
    headers: each(headers),
    oauth: oauth && each(oauthKeys(oauth)),
  }
}

function placeCalled(name: string, { folder }: McpScope): string | undefined {
  if (name === 'workspaceFolder') return folder
  if (name === 'workspaceFolderBasename') return basename(folder)
  if (name === 'userHome') return homedir()
  return name === 'pathSeparator' || name === '/' ? sep : undefined
}

/** Inputs are read from the environment instead of a prompt. */
function inputCalled(id: string, { env, inputs }: McpScope): Found {
  const variable = `TOOLYARD_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
  const value = variableIn(env, variable)
  if (value !== undefined) return { value }
  const about = inputs.find((input) => input.id === id)?.description
  const what = about === undefined ? `'${id}'` : `'${id}' (${about})`
  return {
    problem: `The input ${what} can't be prompted for: set the environment variable ${variable} instead`,
  }
}

const KEYS = Object.keys(MCP_OAUTH_SCHEMA.properties) as (keyof McpOAuthConfig)[]

/** The supported keys. Other clients may have more. */
const oauthKeys = (oauth: McpOAuthConfig): Record<string, string> =>
  Object.fromEntries(KEYS.flatMap((key) => (oauth[key] === undefined ? [] : [[key, oauth[key]]])))

/** Returns the client, or the problem. */
function oauthClient(oauth: Readonly<Record<string, string>>): OAuthClientSettings | string {
  const { client_id: clientId = '', client_secret: clientSecret, private_key: privateKey, issuer, grant_type } = oauth
  if (clientId === '') return 'client_id is empty'
  const isMachine = grant_type === 'client_credentials'
  if (isMachine && (clientSecret === undefined) === (privateKey === undefined)) {
    return 'client_credentials needs either client_secret or private_key'
  }
  if (privateKey !== undefined && !isMachine) return 'private_key is for "grant_type": "client_credentials"'
  if (privateKey !== undefined && !isSigningKey(privateKey)) return "private_key isn't an RSA or EC key in PEM format"
  return {
    clientId,
    isMachine,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { privateKey }),
    ...(issuer !== undefined && { issuer }),
  }
}

function isSigningKey(pem: string): boolean {
  try {
    const { asymmetricKeyType = '' } = createPrivateKey(pem)
    return ['rsa', 'ec'].includes(asymmetricKeyType) && pem.includes('-----BEGIN PRIVATE KEY-----')
  } catch {
    return false
  }
}

/** The MCP servers of a configuration. */
export interface McpReading {
  readonly servers: McpServerSettings[]
  readonly skipped: { readonly name: string; readonly problem: string }[]
  /** Problems that don't prevent the server from starting. */
  readonly warnings: { readonly name: string; readonly problem: string }[]
  /** Servers with `disabled: true`. */
  readonly disabled: string[]
}

const KNOWN = Object.keys(MCP_SERVERS_SCHEMA.additionalProperties.properties)
/** Keys of other clients that have no effect here. */
const FOREIGN = new Set([
  ...['alwaysAllow', 'autoApprove', 'autoStart', 'trust', 'initTimeout', 'startupTimeout', 'dev'],
  ...['gallery', 'version', 'provider', 'tags', 'name', 'displayName', 'description', 'note', 'notes', 'comment'],
  ...['icon', 'iconPath', 'iconUrl'],
])
const COMMENT = /^(_|\$|\/\/|#)/
const LOST: Readonly<Record<string, string>> = {
  envFile: 'envFile is not supported: list the variables under env',
}

/** Reads the servers of a checked configuration and replaces the variables. */
export function readMcpServers(config: Config, env: Environment, folder = process.cwd()): McpReading {
  const reading: McpReading = { servers: [], skipped: [], warnings: [], disabled: [] }
  const scope: McpScope = {
    env,
    inputs: config.inputs ?? [],
    folder,
    allowPrivate: config.http?.allow_private,
    connections: config.connections,
  }
  for (const entry of mcpEntries(config)) {
    const { name, server } = entry
    if (server.disabled === true) {
      reading.disabled.push(name)
      continue
    }
    for (const problem of [...ignoredOf(entry), ...exposedOf(entry)]) reading.warnings.push({ name, problem })
    const problems: string[] = []
    const settings = settingsOf(entry, scope, problems)
    if (problems.length === 0) reading.servers.push(settings)
    else reading.skipped.push({ name, problem: problems.join('. ') })
  }
  return reading
}

/** The settings of MCP servers that have no effect, each with what to do. */
export const ignoredMcpSettings = (config: Config): string[] =>
  mcpEntries(config).flatMap((entry) => (entry.server.disabled === true ? [] : ignoredOf(entry)))

function settingsOf(entry: McpEntry, scope: McpScope, problems: string[]): McpServerSettings {
  const { name, place, server } = entry
  const filled = (text: string, key: string, taken: RegExp): string => {
    const expanded = expandMcpText(text, scope)
    for (const problem of expanded.problems) problems.push(`${place}.${key}: ${problem}`)
    // Doesn't show the value: it may be a secret.
    if (!taken.test(expanded.text)) problems.push(`${place}.${key} contains an invalid character`)
    return expanded.text
  }
  const each = (values: Readonly<Record<string, unknown>> = {}, key: string, taken: RegExp) =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([, value]) => value !== null)
        .map(([one, value]) => [one, filled(String(value), `${key}.${one}`, taken)]),
    )
  const { type, command, args = [], env, cwd, url = '', headers, oauth, pin, check, parameter_names, forward } = server
  const timeoutMs = server.timeout_ms ?? (isTimeout(server.timeout) ? server.timeout : undefined)
  const more = {
    name,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(pin !== undefined && { pin }),
    ...(check !== undefined && { check }),
    ...(parameter_names !== undefined && { parameterNames: parameter_names }),
    ...(forward !== undefined && { forward }),
    identity: identityOf(entry, scope),
  }
  const account = server.auth?.type === 'user_oauth' ? String(server.auth.provider) : undefined
  if (command !== undefined) {
    if (account !== undefined) problems.push(`${place}.auth is for servers with a url: remove it`)
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
    problems.push(`${place}.url is not an http or https address: check the variables in it`)
  }
  if (account !== undefined) {
    const problem = connectionProblem(account, URL.parse(address), scope.connections)
    if (problem !== undefined) problems.push(`${place}.auth: ${problem}`)
    if (oauth !== undefined) problems.push(`${place} has both auth and oauth: remove one of them`)
  }
  const how = type === undefined ? 'auto' : type === 'sse' ? 'sse' : 'http'
  const client = oauth?.client_id && oauthClient(each(oauthKeys(oauth), 'oauth', NO_NUL))
  if (typeof client === 'string') problems.push(`${place}.oauth: ${client}`)
  const { allowPrivate } = scope
  const reach = {
    type: how,
    url: address,
    headers: each(headers, 'headers', HEADER_VALUE),
    fetch: guarded(address, allowPrivate),
    ...(allowPrivate && { allowPrivate }),
  } as const
  if (account !== undefined) return { ...more, reach: { ...reach, account } }
  return { ...more, reach: typeof client === 'object' ? { ...reach, oauth: client } : reach }
}

/** Loads the guards with the first request. */
function guarded(url: string, allowPrivate: McpScope['allowPrivate']): HttpReach['fetch'] {
  let fetch: Promise<HttpReach['fetch']> | undefined
  return async (asked, init) => {
    fetch ??= Promise.all([
      import('../kinds/http/network/guarded-agent.ts'),
      import('../mcp/client/bounded-fetch.ts'),
    ]).then(([{ guardedFetch }, { boundedFetch }]) => boundedFetch(guardedFetch(new URL(url), allowPrivate)))
    return (await fetch)(asked, init)
  }
}

const NO_NUL = /^[^\0]*$/
/** Checked here because the error of `fetch` would show the value. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What was written and has no effect. */
function ignoredOf({ place, server }: McpEntry): string[] {
  const odd = Object.keys(server)
    .filter((key) => !KNOWN.includes(key) && !FOREIGN.has(key) && !COMMENT.test(key))
    .map((key) => `${place}: ${ownValue(LOST, key) ?? unknown(key)}`)
  const { oauth, auth, timeout, timeout_ms } = server
  if (timeout_ms === undefined && timeout !== undefined && !isTimeout(timeout)) odd.push(timeoutIgnored(place, timeout))
  if (auth !== undefined && auth.type !== 'user_oauth')
    odd.push(`${place}.auth is ignored: its type isn't "user_oauth"`)
  if (oauth !== undefined && oauth.client_id === undefined) {
    odd.push(`${place}.oauth is ignored: it has no client_id`)
  }
  return odd
}

/** Secrets that others could read. */
function exposedOf({ place, server }: McpEntry): string[] {
  const { env, headers, oauth } = server
  const odd: string[] = []
  const { client_id, client_secret, private_key, issuer } = oauth ?? {}
  if (client_id !== undefined && (client_secret ?? private_key) !== undefined && issuer === undefined) {
    odd.push(`${place}.oauth has no issuer: its secret is sent to any authorization server that the MCP server names`)
  }
  const secrets = Object.entries({ env, headers, oauth: { ...oauth } }).flatMap(([key, values = {}]) =>
    Object.entries(values)
      .filter(([name, value]) => typeof value === 'string' && !value.includes('${') && isSecret(name, value))
      .map(([name]) => `${place}.${key}.${name} contains a secret: put it into an environment variable`),
  )
  return [...odd, ...secrets]
}

/** Some configurations write seconds: below one second, a tool would never answer in time. */
const MIN_TIMEOUT = 1_000

const isTimeout = (value: unknown): value is number =>
  typeof value === 'number' && value >= MIN_TIMEOUT && value <= MAX_TIMER_MS

function timeoutIgnored(place: string, value: unknown): string {
  const shown = `${place}.timeout ${typeof value === 'number' ? value : JSON.stringify(value)?.slice(0, 100)} is ignored`
  const isSeconds = typeof value === 'number' && value > 0 && value < MIN_TIMEOUT
  const range = `a number of milliseconds from ${MIN_TIMEOUT} to ${MAX_TIMER_MS}`
  if (!isSeconds) return `${shown}: it must be ${range}`
  return `${shown}: it must be ${range}, and some configurations write seconds. Write "timeout_ms": ${Math.round(value * 1_000)} for ${value} s`
}

function unknown(key: string): string {
  const [near] = suggest(key, KNOWN)
  return `unknown key '${key}' is ignored${near === undefined ? '' : `: did you mean '${near}'?`}`
}

const isSecret = (name: string, value: string): boolean =>
  value !== '' && JSON.stringify(redact({ [name]: value })) !== JSON.stringify({ [name]: value })

export interface McpEntry {
  readonly key: string
  /** The key, with characters that tool names don't allow replaced. */
  readonly name: string
  readonly place: string
  readonly server: McpServerConfig
}

export function mcpEntries({ mcpServers = {}, servers = {} }: Config): McpEntry[] {
  return Object.entries({ mcpServers, servers }).flatMap(([section, entries]) =>
    Object.entries(entries).map(([key, server]) => {
      const place = pathText({ parent: { parent: undefined, step: section }, step: key })
      return { key, name: serverName(key), place, server }
    }),
  )
}

/** Other clients allow names such as `Figma Dev Mode`. Here they may become part of a tool name, `<server>__<tool>`. */
const serverName = (key: string): string =>
  key.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, '')
