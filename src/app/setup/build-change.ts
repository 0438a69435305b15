import type { Config } from '../../config/config.ts'
import { type ConfigEdit, valueAt } from '../../config/config-text.ts'
import { PROVIDER_TYPES, USUAL_PROVIDERS } from '../../config/model-settings.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { curlSecrets } from './curl-command.ts'
import { checkedServers, pastedServers, withoutSecrets } from './mcp-paste.ts'
import { type Credential, openapiTools } from './openapi-tools.ts'
import {
  checkReferences,
  forbiddenVariable,
  type NamedSecret,
  type NewSecret,
  NewSecrets,
  type SecretPlace,
} from './references.ts'
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
    }
  | { readonly kind: 'collection'; readonly name: string; readonly description?: string }

/** A change as edits of the configuration. */
export interface BuiltChange {
  readonly edits: readonly ConfigEdit[]
  /** To copy into a configuration. */
  readonly fragment: Config
  readonly secrets: readonly NewSecret[]
  readonly places: readonly SecretPlace[]
  readonly warnings: readonly string[]
  /** The names of what is added. */
  readonly added: {
    readonly servers?: readonly string[]
    readonly providers?: readonly string[]
    readonly models?: readonly string[]
    readonly tools?: readonly string[]
  }
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
  readonly mayName: (variable: string) => boolean
  readonly signal: AbortSignal
}

export async function buildChange(change: SetupChange, context: ChangeContext): Promise<BuiltChange> {
  if (change.kind === 'mcp_servers') return mcpServers(change, context)
  if (change.kind === 'provider') return provider(change, context)
  if (change.kind === 'http_tool') return httpTool(change, context)
  if (change.kind === 'openapi') return openapi(change, context)
  return collection(change, context)
}

type Of<Kind extends SetupChange['kind']> = Extract<SetupChange, { readonly kind: Kind }>

function mcpServers({ servers, text, secrets: given }: Of<'mcp_servers'>, context: ChangeContext): BuiltChange {
  const entries = servers === undefined ? pastedServers(text ?? '') : checkedServers(servers)
  const secrets = new NewSecrets(context, given)
  const added: Record<string, unknown> = {}
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

function httpTool({ tool, command, secrets: given }: Of<'http_tool'>, context: ChangeContext): BuiltChange {
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
  return withTools([tool], secrets, context)
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
  return { ...withTools(tools, secrets, context), warnings: [...disabled(context), ...notes] }
}

const COLLECTION = /^[A-Za-z0-9][A-Za-z0-9_-]{0,56}$/

function collection({ name, description }: Of<'collection'>, context: ChangeContext): BuiltChange {
  if (!COLLECTION.test(name)) {
    const shown = JSON.stringify(name.slice(0, 80))
    throw new SetupError(422, `${shown} is not a name for a collection: use up to 57 letters, digits, _ and -`)
  }
  const about = description?.trim() || `the collection "${name}"`
  const tool = {
    name: `search_${name}`,
    description: `Search ${about} and get the passages that answer best, each with its source and a score from 0 to 1. An empty list means that it says nothing about it.`,
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

function withTools(tools: readonly object[], secrets: NewSecrets, context: ChangeContext): BuiltChange {
  const names = tools.map((tool) => String((tool as { readonly name?: unknown }).name))
  return {
    ...built(context, secrets, { tools: names }),
    edits: [...enabling(context), ...tools.map((tool) => ({ path: ['tools', 'registry', -1], value: tool }))],
    fragment: { tools: { enabled: true, registry: tools } },
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
