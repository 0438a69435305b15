import { intentPattern } from '../chat/intent-pattern.ts'
import { hasSourced, hasVariable } from '../core/environment.ts'
import { type CompiledSchema, compileSchema } from '../core/schema/compiled-schema.ts'
import { suggest } from '../core/suggest.ts'
import type { JsonSchema } from '../core/tool.ts'
import { readRange } from '../kinds/http/network/address-rules.ts'
import { NetworkRules } from '../kinds/http/network/network-rules.ts'
import { embeddingWires } from '../knowledge/embedding/embedding-wires.ts'
import { LOCAL_PROVIDER } from '../knowledge/embedding/local-model.ts'
import { splitModelId } from '../models/model-info.ts'
import { PROVIDER_TYPES, type ProviderConfig } from '../models/provider.ts'
import { boundedConfig, strangePart } from './bounded-config.ts'
import { CONFIG_SCHEMA, type Config } from './config.ts'
import { connectionProblems, isSafeAddress } from './connection-config.ts'
import { type McpEntry, mcpEntries } from './mcp-settings.ts'
import {
  CANNOT_WRITE,
  EMBEDDED_PROVIDER,
  FORMER_PROVIDER,
  FORMER_PROVIDER_GONE,
  isWebAddress,
  modelProblem,
  NO_EMBEDDER,
  providerNotFound,
  typeOf,
  withUsualProviders,
} from './model-settings.ts'
import { roleProblems } from './roles.ts'
import type { ObjectiveConfig } from './service-schema.ts'

/** Most providers limit tool names to 64 characters, and tool names may contain the server's. */
const MAX_NAME_LENGTH = 64
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

function mcpProblems(config: Config): string[] {
  const entries = mcpEntries(config)
  return entries.flatMap((entry, index) => [
    ...nameProblem(entry, entries.slice(0, index)),
    ...reachProblem(entry),
    ...headerProblems(entry),
  ])
}

function nameProblem({ name, place }: McpEntry, before: readonly McpEntry[]): string[] {
  if (name === '' || name.length > MAX_NAME_LENGTH) {
    return [`${place} is not a valid name: use 1 to ${MAX_NAME_LENGTH} letters, digits, _, . and -.`]
  }
  const first = before.find((one) => one.name === name)
  return first === undefined ? [] : [`${place} and ${first.place} have the same name '${name}': rename one of them.`]
}

function reachProblem({ place, server }: McpEntry): string[] {
  const { type, command, url } = server
  if (command !== undefined && url !== undefined) {
    return [`${place} has both command and url: remove one of them.`]
  }
  if (command === undefined && url === undefined) {
    const needed = type === undefined ? ['command', 'url'] : [type === 'stdio' ? 'command' : 'url']
    const near = Object.keys(server).find((key) => suggest(key, needed).length > 0)
    const fix = near === undefined ? 'add it.' : `did you mean that instead of '${near}'?`
    return [`${place} lacks ${needed.join(' or ')}: ${fix}`]
  }
  if (type !== undefined && (type === 'stdio') !== (command !== undefined)) {
    const has = command === undefined ? 'url' : 'command'
    return [`${place}.type is '${type}', which doesn't match ${has}: remove type to detect it.`]
  }
  if (url !== undefined && !url.includes('${') && !isWebAddress(url)) {
    return [`${place}.url must be an http or https address, such as http://127.0.0.1:3000/mcp.`]
  }
  return []
}

const headerProblems = ({ place, server: { headers = {} } }: McpEntry): string[] =>
  Object.keys(headers)
    .filter((name) => !HEADER_NAME.test(name))
    .map((name) => `${place}.headers: ${JSON.stringify(name)} is not a valid header name.`)

/** Problems beyond the schema, each with its path and a fix. */
function configProblems(config: Config): string[] {
  const { models = [], responses = [] } = config
  const { providers = {} } = withUsualProviders(config)
  const known = [...new Set([...Object.keys(providers), EMBEDDED_PROVIDER])]
  const ids = models.map(({ id }) => id)
  return [
    ...Object.entries(providers).flatMap(([name, provider]) => providerProblems(name, provider)),
    ...ids.flatMap((id, index) => modelProblem(id, `models[${index}].id`, known) ?? twice(id, index, ids)),
    ...responses.flatMap(({ llm, match }, index) => [
      ...providerNotFound(llm, `responses[${index}].llm`, known),
      ...patternProblem(match?.intent_regexp, `responses[${index}].match.intent_regexp`),
    ]),
    ...networkProblem(() => new NetworkRules(config.http ?? {})),
    ...(config.server?.trusted_proxies ?? []).flatMap((entry) =>
      networkProblem(() => readRange(entry, 'server.trusted_proxies')),
    ),
    ...(config.server?.cors_origins ?? []).flatMap(originProblem),
    ...knowledgeProblems(config, known),
    ...storageProblems(config),
    ...(config.objectives ?? []).flatMap(objectiveProblems),
    ...mcpProblems(config),
    ...roleProblems(config),
    ...signInProblems(config),
    ...connectionProblems(config),
  ]
}

function signInProblems({ auth, server }: Config): string[] {
  const { issuer, tokens, introspection } = auth?.oidc ?? {}
  const url = server?.public_url
  const isOrigin = url === undefined || (isWebAddress(url) && URL.parse(url)?.origin === url)
  return [
    ...addressProblem('auth.oidc.issuer', issuer, /[?#]/),
    ...addressProblem('auth.oidc.introspection.endpoint', introspection?.endpoint, /#/),
    ...(issuer === undefined || !NO_ISSUER.test(issuer)
      ? []
      : [
          `auth.oidc.issuer ${JSON.stringify(issuer)} stands for many tenants of Entra ID: write the id of yours, as in https://login.microsoftonline.com/<id>/v2.0.`,
        ]),
    ...(introspection === undefined ||
    hasVariable(introspection.client_secret) ||
    hasSourced(introspection.client_secret)
      ? []
      : [
          'auth.oidc.introspection.client_secret contains a secret: put it into an environment variable, and write "${NAME}".',
        ]),
    ...(tokens === undefined || introspection?.jwt !== true
      ? []
      : ['auth.oidc.tokens has no effect, because auth.oidc.introspection.jwt is true: remove one of them.']),
    ...(isOrigin
      ? []
      : [
          `server.public_url ${JSON.stringify(url)} must be an origin without a path, such as "https://tools.example.com".`,
        ]),
  ]
}

/** Anyone could get a token from one of these. */
const NO_ISSUER = /[{}]|\bmicrosoftonline\.[^/]+\/(?:common|organizations|consumers)(?:\/|$)/

function addressProblem(place: string, address: string | undefined, refused: RegExp): string[] {
  if (address === undefined || (isSafeAddress(URL.parse(address)) && !refused.test(address))) return []
  return [
    `${place} ${JSON.stringify(address)} must be an https address, such as https://login.example.com, or one of this machine.`,
  ]
}

/** The default of `storage.keep_days`. */
export const KEEP_DAYS = 7

function storageProblems({ storage = {} }: Config): string[] {
  const { keep_days = KEEP_DAYS, audit_days = keep_days } = storage
  if (audit_days >= keep_days) return []
  return [`storage.audit_days is ${audit_days}, less than keep_days (${keep_days}): raise it, or lower keep_days.`]
}

/** Two entries with the same values would be one objective with two alerts. */
function objectiveProblems(objective: ObjectiveConfig, index: number, all: readonly ObjectiveConfig[]): string[] {
  const place = `objectives[${index}]`
  const { tool, success, p95_ms, window = '30d' } = objective
  if (success === undefined && p95_ms === undefined) return [`${place} has no target: add success, p95_ms or both.`]
  const first = all.findIndex(
    (one) =>
      one.tool === tool &&
      (one.window ?? '30d') === window &&
      ((success !== undefined && one.success === success) || (p95_ms !== undefined && one.p95_ms === p95_ms)),
  )
  return first < index ? [`${place} repeats a target of objectives[${first}]: remove one of them.`] : []
}

/** An entry that no browser sends would silently have no effect, and "*" would allow every website. */
function originProblem(entry: string, index: number): string[] {
  if (URL.parse(entry)?.origin === entry) return []
  const problem = entry === '*' ? '"*" would allow every website' : `${JSON.stringify(entry)} isn't an origin`
  return [`server.cors_origins[${index}]: ${problem}: name origins such as "https://app.example.com".`]
}

/** An invalid address or domain would silently have no effect. */
function networkProblem(read: () => unknown): string[] {
  try {
    read()
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

function providerProblems(name: string, provider: ProviderConfig): string[] {
  const place = `providers.${name}`
  const type = provider.type ?? name
  if (type === FORMER_PROVIDER) return [`${place}: ${FORMER_PROVIDER_GONE}`]
  if (!PROVIDER_TYPES.some((one) => one === type)) {
    return [`${place}.type is missing, and '${name}' isn't a type: use one of ${PROVIDER_TYPES.join(', ')}.`]
  }
  const problems: string[] = []
  const { base_url, api, grammar } = provider
  if (base_url !== undefined && !hasVariable(base_url) && !hasSourced(base_url) && !isWebAddress(base_url)) {
    problems.push(`${place}.base_url must be an http or https address, such as http://127.0.0.1:11434.`)
  }
  if (api !== undefined && type !== 'openai') problems.push(`${place}.api is for the type openai only: remove it.`)
  if (grammar !== undefined && type !== 'llama')
    problems.push(`${place}.grammar is for the type llama only: remove it.`)
  return problems
}

function twice(id: string, index: number, ids: readonly string[]): string[] {
  const first = ids.indexOf(id)
  return first < index ? [`models[${index}].id '${id}' is the same as models[${first}].id: remove one of them.`] : []
}

function patternProblem(literal: string | undefined, place: string): string[] {
  try {
    if (literal !== undefined) intentPattern(literal)
    return []
  } catch (error) {
    return [`${place} '${literal}' ${error instanceof Error ? error.message : error}.`]
  }
}

function knowledgeProblems(config: Config, known: readonly string[]): string[] {
  const { model, embedder } = config.knowledge ?? {}
  return [
    ...(model === undefined ? [] : (modelProblem(model, 'knowledge.model', known) ?? cannotWrite(config, model))),
    ...(embedder === undefined || embedder === NO_EMBEDDER ? [] : embedderProblems(config, embedder, known)),
  ]
}

function cannotWrite(config: Config, model: string): string[] {
  if (!CANNOT_WRITE.has(typeOf(config, model) ?? '')) return []
  return [`knowledge.model '${model}' can't write text: use a language model.`]
}

function embedderProblems(config: Config, embedder: string, known: readonly string[]): string[] {
  const place = 'knowledge.embedder'
  const problems = modelProblem(embedder, place, [...known, LOCAL_PROVIDER])
  if (problems !== undefined) return problems
  const provider = splitModelId(embedder)?.provider ?? ''
  if (provider === LOCAL_PROVIDER && !known.includes(LOCAL_PROVIDER)) return []
  const types = Object.keys(embeddingWires)
  if (types.includes(typeOf(config, embedder) ?? '')) return []
  return [`${place} '${embedder}': ${provider} has no embedding models. Use a provider of type ${types.join(', ')}.`]
}

const STEP = /\["(?:[^"\\]|\\.)*"\]|\[\d+\]|[^.[\]]+/g

/** The last step of a path such as `responses[0].tools.enabld`, and the keys that the schema allows there. */
function knownKeys(path: string, schema: JsonSchema): { readonly key: string; readonly keys: string[] } {
  const steps = path.match(STEP) ?? []
  const key = steps.pop() ?? path
  const parent = steps.reduce<JsonSchema | undefined>((at, step) => {
    if (/^\[\d/.test(step)) return part(at, 'items')
    return part(part(at, 'properties'), step) ?? part(at, 'additionalProperties')
  }, schema)
  return { key, keys: Object.keys(part(parent, 'properties') ?? {}) }
}

function part(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  const value = schema !== undefined && Object.hasOwn(schema, name) ? schema[name] : undefined
  return typeof value === 'object' && value !== null ? (value as JsonSchema) : undefined
}

/** An invalid configuration. The message names file, path and fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Kept, because `compileSchema` forgets a schema that nothing holds, and this one is large. */
let configSchema: CompiledSchema | undefined

/** Returns the value as a configuration, or throws a `ConfigError` that starts with `place`, usually a file name. */
export function checkConfig(given: unknown, place: string): Config {
  const value = bounded(given, place)
  const strange = strangePart(value)
  if (strange !== undefined) throw new ConfigError(`${place}: ${strange}`)
  configSchema ??= compileSchema(CONFIG_SCHEMA)
  const compiled = configSchema
  const problems = compiled.check?.(value)
    ? configProblems(value as Config)
    : schemaProblems(compiled.explain(value), value)
  if (problems.length > 0) throw new ConfigError(`${place}: ${problems.join(' ')}`)
  return withUsualProviders(value as Config)
}

/** A configuration that can be read by recursive functions. Throws if more than single tools is nested too deeply. */
export function bounded(value: unknown, place: string): unknown {
  const { config, problem } = boundedConfig(value)
  if (problem !== undefined) throw new ConfigError(`${place}: ${problem}.`)
  return config
}

function schemaProblems(explained: ReturnType<ReturnType<typeof compileSchema>['explain']>, value: unknown): string[] {
  return explained.map(({ rule, path, message }) => {
    if (isFormerType(path, value)) return `${path}: ${FORMER_PROVIDER_GONE}`
    if (rule !== 'additionalProperties') return `${message.replace(/^parameters /, 'the configuration ')}.`
    const { key, keys } = knownKeys(path, CONFIG_SCHEMA)
    const [near] = suggest(key, keys)
    return `unknown key '${path}'${near === undefined ? ': remove it.' : `: did you mean '${near}'?`}`
  })
}

function isFormerType(path: string, value: unknown): boolean {
  const name = /^providers\.(.+)\.type$/.exec(path)?.[1]
  return name !== undefined && (value as Config).providers?.[name]?.type === FORMER_PROVIDER
}
