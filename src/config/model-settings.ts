import { suggest } from '../core/suggest.ts'
import type { ModelInfo } from '../models/model-info.ts'
import { ruleModelId, splitModelId } from '../models/model-info.ts'
import { type ProviderConfig, USUAL_PROVIDER_NAMES } from '../models/provider.ts'
import type { Config } from './config.ts'

/** The provider that needs no configuration. */
export const EMBEDDED_PROVIDER = 'mini'

export const EMBEDDED_MODEL = 'v1'

/** Providers that run locally at no cost. */
export const COST_NOTHING: ReadonlySet<string> = new Set(['llama', EMBEDDED_PROVIDER])

/** Providers that select tools but can't write text. */
export const CANNOT_WRITE: ReadonlySet<string> = new Set([EMBEDDED_PROVIDER])

/** The predecessor of `mini`. */
export const FORMER_PROVIDER = 'demo'
export const FORMER_PROVIDER_GONE =
  'demo:rules was replaced by mini:v1: write mini instead of demo, and v1 instead of rules.'

/** The value of `knowledge.embedder` that disables vectors. */
export const NO_EMBEDDER = 'none'

export function typeOf({ providers = {} }: Config, model: string): string | undefined {
  const provider = splitModelId(model)?.provider ?? ''
  return (Object.hasOwn(providers, provider) ? providers[provider]?.type : undefined) ?? provider
}

/** In the order of preference for the knowledge tools. */
function namedModels({ knowledge, responses = [], models = [] }: Config): readonly string[] {
  return [
    ...(knowledge?.model === undefined ? [] : [knowledge.model]),
    ...responses.map(ruleModelId),
    ...models.map(({ id }) => id),
  ]
}

const USUAL: Readonly<Record<(typeof USUAL_PROVIDER_NAMES)[number], ProviderConfig>> = {
  openai: { api_key: '${OPENAI_API_KEY}' },
  anthropic: { api_key: '${ANTHROPIC_API_KEY}' },
  gemini: { api_key: '${GEMINI_API_KEY}' },
  google: { type: 'gemini', api_key: '${GOOGLE_API_KEY}' },
  ollama: {},
}

/** The entries of providers that need none. */
export const USUAL_PROVIDERS: Readonly<Record<string, ProviderConfig>> = USUAL

/** Adds the entries of well-known providers that a rule, a model, an agent or `more` names. */
export function withUsualProviders(config: Config, more: readonly string[] = []): Config {
  const implementations = (config.tools?.registry ?? []).map((tool) => Object(Object(tool).implementation))
  const agents = implementations.filter(({ type, url }) => type === 'agent' && url === undefined)
  const usual = usualProviders([
    ...namedModels(config),
    ...agents.flatMap(({ model }) => (typeof model === 'string' ? [model] : [])),
    ...more,
  ])
  return Object.keys(usual).length === 0 ? config : { ...config, providers: { ...usual, ...config.providers } }
}

/** The entries of well-known providers of these models. */
export function usualProviders(models: readonly string[]): Readonly<Record<string, ProviderConfig>> {
  const named = new Set(models.map((id) => splitModelId(id)?.provider))
  const usual = USUAL_PROVIDER_NAMES.filter((name) => named.has(name))
  return Object.fromEntries(usual.map((name) => [name, USUAL[name]]))
}

/** The model of the knowledge tools: the first that can write text. */
export const knowledgeModel = (config: Config): string | undefined =>
  namedModels(config).find((id) => !CANNOT_WRITE.has(typeOf(config, id) ?? ''))

const EMBEDDED: ModelInfo = {
  id: `${EMBEDDED_PROVIDER}:${EMBEDDED_MODEL}`,
  name: 'Mini (comes with Toolyard)',
  capabilities: ['function-calling'],
}

/** The configured models, those that only response rules name, and `mini:v1`. */
export function configuredModels({ models = [], responses = [], providers = {} }: Config): readonly ModelInfo[] {
  const type = Object.hasOwn(providers, EMBEDDED_PROVIDER) ? providers[EMBEDDED_PROVIDER]?.type : undefined
  const embedded = type === undefined || type === EMBEDDED_PROVIDER ? [EMBEDDED] : []
  const ids = new Set([...models, ...embedded].map(({ id }) => id))
  const named = [...new Set(responses.map(ruleModelId))]
    .filter((id) => !ids.has(id))
    .map((id) => ({
      id,
      name: splitModelId(id)?.model ?? id,
      capabilities: responses.some((rule) => ruleModelId(rule) === id && rule.tools?.enabled !== false)
        ? ['function-calling']
        : [],
    }))
  return [...models, ...named, ...embedded.filter(({ id }) => models.every((model) => model.id !== id))]
}

/** Providers that have only the models that the operator installed. */
const HAVE_INSTALLED: ReadonlySet<string> = new Set(['ollama', 'llama', EMBEDDED_PROVIDER])

/** Whether callers of the server may use a model: the configuration names it, or its provider offers any model. */
export function offeredModels(config: Config): (id: string) => boolean {
  const named = new Set([...namedModels(config), ...configuredModels(config).map(({ id }) => id)])
  const { providers = {} } = config
  return (id) => {
    if (named.has(id)) return true
    const provider = splitModelId(id)?.provider ?? ''
    const any = Object.hasOwn(providers, provider) ? providers[provider]?.any_model : undefined
    return any ?? HAVE_INSTALLED.has(typeOf(config, id) ?? '')
  }
}

export function modelProblem(id: string, place: string, known: readonly string[]): string[] | undefined {
  const parts = splitModelId(id)
  if (parts === undefined) return [`${place} '${id}' names no provider: write it as provider:model.`]
  const problems = providerNotFound(parts.provider, place, known)
  return problems.length > 0 ? problems : undefined
}

export function providerNotFound(name: string, place: string, known: readonly string[]): string[] {
  if (known.includes(name)) return []
  if (name === FORMER_PROVIDER) return [`${place}: ${FORMER_PROVIDER_GONE}`]
  const [near] = suggest(name, known)
  const fix = near === undefined ? `add it to providers (known: ${known.join(', ')}).` : `did you mean '${near}'?`
  return [`${place}: Provider ${name} not found: ${fix}`]
}

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
