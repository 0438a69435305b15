import { basename } from 'node:path'
import { jsonrepair } from 'jsonrepair'
import type { Config } from '../../config/config.ts'
import { type ConfigEdit, isSecretText, valueAt } from '../../config/config-text.ts'
import { USUAL_PROVIDERS } from '../../config/model-settings.ts'
import { foreignText, parseJson, RefusedJsonError } from '../../core/json/json-depth.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { PROVIDER_TYPES } from '../../models/provider.ts'
import type { PayloadPolicy } from '../payloads.ts'
import { curlSecrets } from './curl-command.ts'
import { type Credential, openapiTools } from './openapi-tools.ts'
import { allowedHosts, type PrivateHost } from './private-hosts.ts'
import {
  checkReferences,
  forbiddenVariable,
  type NamedSecret,
  type NewSecret,
  NewSecrets,
  type SecretPlace,
  serviceOf,
} from './references.ts'
import { type Removed, removal } from './removals.ts'
import { SetupError } from './setup-error.ts'

type Values = Readonly<Record<string, unknown>>

/** What the page asks for. */
export type SetupChange =
  | {
      readonly kind: 'mcp_servers'
      readonly servers?: Values
      readonly text?: string
      readonly secrets?: readonly NamedSecret[]
    }
  | {
      readonly kind: 'provider'
      readonly name: string
      readonly type?: string
      readonly base_url?: string
      readonly api_key?: Credential
      readonly models?: readonly { readonly id: string; readonly name?: string }[]
    }
  | {
      readonly kind: 'http_tool'
      readonly tool: Values
      readonly allow_private?: readonly string[]
      readonly command?: string
      readonly secrets?: readonly NamedSecret[]
    }
  | {
      readonly kind: 'openapi'
      readonly url?: string
      readonly document?: string
      readonly operations: readonly string[]
      readonly base_url?: string
      readonly prefix?: string
      readonly credentials?: Readonly<Record<string, Credential>>
      readonly allow_private?: readonly string[]
    }
  | { readonly kind: 'collection'; readonly name: string; readonly description?: string }
  | { readonly kind: 'remove_model'; readonly id: string }
  /** A provider is removed with its models, a tool in all of its versions. */
  | { readonly kind: 'remove_provider' | 'remove_tool' | 'remove_mcp_server'; readonly name: string }
  /** Which parameters and results of calls are stored. */
  | { readonly kind: 'payloads'; readonly policy: PayloadPolicy }

/** A change as edits of the configuration. */
export interface BuiltChange {
  readonly edits: readonly ConfigEdit[]
  /** To copy into a configuration. */
  readonly fragment: Config
  readonly secrets: readonly NewSecret[]
  readonly places: readonly SecretPlace[]
  readonly warnings: readonly string[]
  /** Hosts of new tools that the change may allow. */
  readonly privateHosts?: readonly PrivateHost[]
  /** The names of what is added. */
  readonly added: {
    readonly servers?: readonly string[]
    readonly providers?: readonly string[]
    readonly models?: readonly string[]
    readonly tools?: readonly string[]
    readonly settings?: readonly string[]
  }
  /** The names of what is removed. */
  readonly removed?: Removed
}

/** What a change may do, and what there is. */
export interface ChangeContext {
  /** The configuration as it is written, without its includes. */
  readonly written: Values
  readonly config: Config
  readonly taken: readonly string[]
  /** Whether nothing is written: then secrets need no value. */
  readonly isPreview?: boolean
  /** Why MCP servers with a command can't be added. */
  readonly noCommands: string | undefined
  /** Whether the user of this machine makes the change. */
  readonly isLocal: boolean
  readonly mayName: (variable: string) => boolean
  readonly signal: AbortSignal
}

export async function buildChange(change: SetupChange, context: ChangeContext): Promise<BuiltChange> {
  if (change.kind === 'mcp_servers') return mcpServers(change, context)
  if (change.kind === 'provider') return provider(change, context)
  if (change.kind === 'http_tool') return httpTool(change, context)
  if (change.kind === 'openapi') return openapi(change, context)
  if (change.kind === 'payloads') return payloads(change)
  if (change.kind === 'collection') return collection(change, context)
  return {
    ...removal(change.kind, change.kind === 'remove_model' ? change.id : change.name, context),
    ...{ fragment: {}, secrets: [], places: [], added: {} },
  }
}

type Of<Kind extends SetupChange['kind']> = Extract<SetupChange, { readonly kind: Kind }>

function mcpServers({ servers, text, secrets: given }: Of<'mcp_servers'>, context: ChangeContext): BuiltChange {
  const entries = servers === undefined ? pastedServers(text ?? '') : checkedServers(servers)
  const secrets = new NewSecrets(context, given)
  const added: Record<string, unknown> = Object.create(null)
  for (const [name, entry] of Object.entries(entries)) {
    const known = ['mcpServers', 'servers'].find((key) => valueAt(context.written, [key, name]) !== undefined)
    if (known !== undefined) throw new SetupError(422, `There is already an MCP server ${name} in ${known}: rename it`)
    if (entry.command !== undefined && context.noCommands !== undefined) {
      throw new SetupError(422, `The MCP server ${name} runs a command. ${context.noCommands}`)
    }
    added[name] = withoutSecrets(name, entry, secrets)
    secrets.used(added[name], `mcpServers.${name}`)
  }
  checkReferences(added, { secrets: secrets.names, variable: context.mayName })
  const names = Object.keys(added)
  return {
    ...built(context, secrets, { servers: names }),
    edits: [...enabling(context), ...names.map((name) => ({ path: ['mcpServers', name], value: added[name] }))],
    fragment: { mcpServers: added as Config['mcpServers'] & object },
  }
}

function provider(change: Of<'provider'>, context: ChangeContext): BuiltChange {
  const { name, type, base_url, api_key, models = [] } = change
  const place = `providers.${name}`
  const isKnown = valueAt(context.written, ['providers', name]) !== undefined
  const sets = type ?? base_url ?? api_key
  if (isKnown && sets !== undefined) {
    throw new SetupError(422, `There is already a provider ${name}: use another name, or change it in the file`)
  }
  if (!isKnown && !PROVIDER_TYPES.some((one) => one === (type ?? name)) && !Object.hasOwn(USUAL_PROVIDERS, name)) {
    throw new SetupError(422, `Choose the type of the provider ${name}: ${PROVIDER_TYPES.join(', ')}`)
  }
  const secrets = new NewSecrets(context)
  const usual = Object.hasOwn(USUAL_PROVIDERS, name) ? USUAL_PROVIDERS[name] : undefined
  // Its usual variable goes to its own address only.
  const isUsualPlace = base_url === undefined && (type === undefined || type === name)
  const isOwn = (variable: string) => isUsualPlace && usual?.api_key === `\${${variable}}`
  const key = reference(api_key, secrets, `${place}.api_key`, (one) => isOwn(one) || context.mayName(one))
  const entry = {
    ...(type !== undefined && type !== name && { type }),
    ...(base_url !== undefined && { base_url }),
    ...(key !== undefined && { api_key: key }),
  }
  checkReferences([name, { ...entry, api_key: '' }, models], { secrets: new Set(), variable: context.mayName })
  const added = models.map(({ id, name: title }) => ({
    ...{ id: `${name}:${id}`, name: title || id, capabilities: ['function-calling'] },
  }))
  const isUsual = JSON.stringify(entry) === JSON.stringify(usual ?? null) || (usual !== undefined && sets === undefined)
  const writes = !isKnown && !(isUsual && added.length > 0)
  return {
    ...built(context, secrets, {
      ...(!isKnown && { providers: [name] }),
      models: added.map(({ id }) => id),
    }),
    edits: [
      ...(writes ? [{ path: ['providers', name], value: entry }] : []),
      ...added.map((model) => ({ path: ['models', -1], value: model })),
    ],
    fragment: { ...(writes && { providers: { [name]: entry } }), ...(added.length > 0 && { models: added }) },
  }
}

async function httpTool(change: Of<'http_tool'>, context: ChangeContext): Promise<BuiltChange> {
  const { tool, command, secrets: given, allow_private } = change
  const { name, implementation } = tool
  if (typeof name !== 'string' || !isObject(implementation) || implementation.type !== 'http') {
    throw new SetupError(422, 'The tool needs a name and an implementation of type "http"')
  }
  const secrets = new NewSecrets(context, given)
  const referred = new Set(Array.from(JSON.stringify(implementation).matchAll(/\$\{secret:(\w+)\}/g), ([, one]) => one))
  for (const { name: secret, value } of command === undefined ? [] : curlSecrets(command, context.taken)) {
    if (referred.has(secret) && !secrets.names.has(secret)) secrets.add(secret, value)
  }
  secrets.used(implementation, name)
  checkReferences(tool, { secrets: secrets.names, variable: context.mayName })
  return withPrivateHosts(withTools([tool], secrets, context), [tool], allow_private, context.config)
}

async function openapi(change: Of<'openapi'>, context: ChangeContext): Promise<BuiltChange> {
  const secrets = new NewSecrets(context)
  const { definitions, variables, notes } = await openapiTools(change, context)
  const { credentials = {} } = change
  const written = new Map<string, string>()
  for (const variable of variables) {
    const given = Object.hasOwn(credentials, variable) ? credentials[variable] : undefined
    const text = reference(given ?? { variable }, secrets, 'tools.registry', context.mayName)
    written.set(variable, text ?? '')
  }
  const tools = definitions.map((tool): ToolDefinition => {
    const text = JSON.stringify(tool.implementation)
    return {
      ...tool,
      implementation: JSON.parse(text.replace(/\$\{(\w+)\}/g, (whole, one) => written.get(one) ?? whole)),
    }
  })
  const implementations = tools.map(({ implementation }) => implementation)
  checkReferences(implementations, { secrets: secrets.names, variable: context.mayName })
  const all = { ...withTools(tools, secrets, context), warnings: [...disabled(context), ...notes] }
  return withPrivateHosts(all, tools, change.allow_private, context.config)
}

const COLLECTION = /^[A-Za-z0-9][A-Za-z0-9_-]{0,56}$/

function collection({ name, description }: Of<'collection'>, context: ChangeContext): BuiltChange {
  if (!COLLECTION.test(name)) {
    const shown = JSON.stringify(name.slice(0, 80))
    throw new SetupError(422, `${shown} is not a name for a collection: use up to 57 letters, digits, _ and -`)
  }
  const about = description?.trim().replace(/\.$/, '')
  const tool = {
    name: `search_${name}`,
    description: `Search the collection "${name}"${about ? ` (${about})` : ''} and get the passages that answer best, each with its source and a score from 0 to 1. An empty list means that it says nothing about it.`,
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What to look for, in a few words.' },
        collection: { type: 'string', enum: [name], default: name, description: 'The collection.' },
        max_results: { type: 'integer', minimum: 1, maximum: 20, default: 5, description: 'The number of passages.' },
      },
      required: ['query', 'collection'],
    },
    implementation: { type: 'internal', handler: 'rag_query' },
    effect: 'read',
  }
  checkReferences(tool, { secrets: new Set(), variable: context.mayName })
  return withTools([tool], new NewSecrets({ taken: [] }), context)
}

const payloads = ({ policy }: Of<'payloads'>): BuiltChange => ({
  edits: [{ path: ['storage', 'payloads'], value: policy }],
  fragment: { storage: { payloads: policy } },
  ...{ secrets: [], places: [], addresses: [] },
  warnings: policy === 'all' ? [] : ['What is stored already stays for up to 7 days.'],
  added: { settings: [`storage.payloads: ${policy}`] },
})

function withTools(tools: readonly object[], secrets: NewSecrets, context: ChangeContext): BuiltChange {
  const names = tools.map((tool) => foreignText((tool as { readonly name?: unknown }).name))
  return {
    ...built(context, secrets, { tools: names }),
    edits: [...enabling(context), ...tools.map((tool) => ({ path: ['tools', 'registry', -1], value: tool }))],
    fragment: { tools: { enabled: true, registry: tools } },
  }
}

/** Adds the private addresses of tools that the caller allows. */
async function withPrivateHosts(
  change: BuiltChange,
  tools: readonly object[],
  allowed: readonly string[] = [],
  { http }: Config,
): Promise<BuiltChange> {
  const { hosts, added, warnings } = await allowedHosts(tools, allowed, http)
  const all = { ...change, privateHosts: hosts, warnings: [...change.warnings, ...warnings] }
  if (added.length === 0) return all
  return {
    ...all,
    edits: [...change.edits, ...added.map((value) => ({ path: ['http', 'allow_private', -1], value }))],
    fragment: { ...change.fragment, http: { allow_private: added } },
    added: { ...change.added, settings: added.map((address) => `http.allow_private: ${address}`) },
  }
}

/** Only `"enabled": true` enables tools. One who wrote false means it. */
function enabling({ written }: ChangeContext): ConfigEdit[] {
  return valueAt(written, ['tools', 'enabled']) === undefined ? [{ path: ['tools', 'enabled'], value: true }] : []
}

const disabled = ({ written }: ChangeContext): string[] =>
  valueAt(written, ['tools', 'enabled']) === false
    ? ['Tools are disabled: set "tools": {"enabled": true} in the configuration']
    : []

const built = (context: ChangeContext, secrets: NewSecrets, added: BuiltChange['added']) => ({
  secrets: secrets.list,
  places: secrets.places,
  warnings: disabled(context),
  added,
})

/** The text for a credential: a reference to a new secret, or to a variable. */
function reference(
  credential: Credential | undefined,
  secrets: NewSecrets,
  place: string,
  mayName: (variable: string) => boolean,
): string | undefined {
  if (credential === undefined) return undefined
  if ('secret' in credential) {
    const { name, value } = credential.secret
    secrets.add(name, value, place)
    return `\${secret:${name}}`
  }
  if (!mayName(credential.variable)) throw forbiddenVariable(credential.variable)
  return `\${${credential.variable}}`
}

type Entry = Readonly<Record<string, unknown>>
export type Entries = Readonly<Record<string, Entry>>

const MAX_SERVERS = 20
/** Repairing takes quadratic time: about 100 ms for this length. */
const MAX_REPAIRED = 32_768
const MAX_ENTRY_CHARACTERS = 65_536
const NAME = /^[A-Za-z0-9][A-Za-z0-9_. -]{0,63}$/

/** Reads MCP servers as other clients write them: `mcpServers`, `servers`, the entries alone, one entry, or a URL. */
export function pastedServers(text: string): Entries {
  const trimmed = text.trim()
  if (/^https?:\/\/\S+$/i.test(trimmed)) return { [nameOf(trimmed)]: { url: trimmed } }
  // A part of a file often has no braces around it.
  const whole = trimmed.startsWith('"') ? `{${trimmed}}` : trimmed
  const value = readLoosely(whole)
  if (!isObject(value)) {
    throw new SetupError(
      422,
      'This is neither JSON nor a URL: paste "mcpServers" of another client, or the URL of a server',
    )
  }
  const servers = [value.mcpServers, value.servers, Object(value.mcp).servers].find(isObject)
  if (servers !== undefined) return checkedServers(servers)
  if (typeof value.command === 'string') return checkedServers({ [nameOf(value.command)]: value })
  if (typeof value.url === 'string') return checkedServers({ [nameOf(value.url)]: value })
  return checkedServers(value)
}

/** JSON that may have comments and commas at the end. */
function readLoosely(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof RefusedJsonError) throw new SetupError(422, `The text ${error.message}: flatten it`)
    if (text.length > MAX_REPAIRED) {
      throw new SetupError(
        422,
        'This is not valid JSON, and too long to be repaired: correct it, or paste a part of it',
      )
    }
  }
  try {
    const repaired = jsonrepair(text)
    const ends = (one: string): number => one.split('}').length
    // What is missing at the end is not made up.
    return ends(repaired) > ends(text) ? undefined : parseJson(repaired)
  } catch {
    return undefined
  }
}

/** A name for a server without one: its service, or its program. */
function nameOf(reach: string): string {
  const host = URL.parse(reach)?.hostname
  const name = host === undefined ? basename(reach) : serviceOf(host)
  return (
    name
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[-_]+|(?<![-_])[-_]+$/g, '')
      .slice(0, 40) || 'server'
  )
}

/** Checks the form of servers. The configuration is checked as a whole later. */
export function checkedServers(servers: Readonly<Record<string, unknown>>): Entries {
  const entries = Object.entries(servers)
  if (entries.length === 0) throw new SetupError(422, 'There is no MCP server in it: add one with "command" or "url"')
  if (entries.length > MAX_SERVERS) {
    throw new SetupError(422, `These are ${entries.length} MCP servers: add at most ${MAX_SERVERS} at once`)
  }
  for (const [name, entry] of entries) {
    const shown = JSON.stringify(name.slice(0, 80))
    if (!NAME.test(name)) {
      throw new SetupError(422, `${shown} is not a name for an MCP server: use up to 64 letters, digits, _, . and -`)
    }
    if (!isObject(entry) || (typeof entry.command !== 'string' && typeof entry.url !== 'string')) {
      throw new SetupError(422, `The MCP server ${shown} has neither "command" nor "url": add one of them`)
    }
    if (JSON.stringify(entry).length > MAX_ENTRY_CHARACTERS) {
      throw new SetupError(422, `The entry of the MCP server ${shown} is longer than 64 KB: shorten it`)
    }
  }
  return Object.fromEntries(entries) as Entries
}

/** Moves the secrets in an entry to the store, and refers to them instead. */
export function withoutSecrets(name: string, entry: Entry, secrets: NewSecrets): Entry {
  const moved = (value: unknown, key: string, place: string, wanted: string): unknown =>
    typeof value === 'string' && isSecretText(key, value) ? secrets.found(wanted, value, place) : value
  const texts = (part: unknown, place: string, wanted: (key: string) => string): unknown =>
    isObject(part)
      ? Object.fromEntries(
          Object.entries(part).map(([key, value]) => [key, moved(value, key, `${place}.${key}`, wanted(key))]),
        )
      : part
  const place = `mcpServers.${name}`
  const { env, headers, oauth, args, url } = entry
  return {
    ...entry,
    ...(url !== undefined && { url: moved(url, 'url', `${place}.url`, `${name}_url`) }),
    ...(Array.isArray(args) && {
      // "--token abc": the word before says what the next one is.
      args: args.map((word, at) => moved(word, optionBefore(args, at), `${place}.args[${at}]`, `${name}_secret`)),
    }),
    ...(env !== undefined && { env: texts(env, `${place}.env`, (key) => key) }),
    ...(headers !== undefined && { headers: texts(headers, `${place}.headers`, (key) => `${name}_${key}`) }),
    ...(oauth !== undefined && { oauth: texts(oauth, `${place}.oauth`, (key) => `${name}_${key}`) }),
  }
}

function optionBefore(args: readonly unknown[], at: number): string {
  const before = args[at - 1]
  return typeof before === 'string' && /^--?[\w-]+$/.test(before) ? before : ''
}
