import { type KeySource, keyChange, type SecretStore, sourceFor } from './key-source.ts'

/** A provider that the form offers. */
export interface OfferedProvider {
  readonly id: string
  readonly title: string
  readonly about: string
  /** The usual environment variable of its key; others need no key. */
  readonly variable?: string
  readonly baseUrl?: string
  readonly example: string
}

export const PROVIDERS: readonly OfferedProvider[] = [
  { id: 'openai', title: 'OpenAI', about: 'GPT models', variable: 'OPENAI_API_KEY', example: 'gpt-4o' },
  {
    ...{ id: 'anthropic', title: 'Anthropic', about: 'Claude models' },
    ...{ variable: 'ANTHROPIC_API_KEY', example: 'claude-sonnet-4-5' },
  },
  {
    ...{ id: 'gemini', title: 'Gemini', about: 'Google models' },
    ...{ variable: 'GEMINI_API_KEY', example: 'gemini-2.5-flash' },
  },
  {
    ...{ id: 'ollama', title: 'Ollama', about: 'local models, no key' },
    ...{ baseUrl: 'http://127.0.0.1:11434', example: 'llama3.2:3b' },
  },
  { id: 'compatible', title: 'OpenAI-compatible', about: 'any server with /v1', example: 'my-model' },
]

/** The form for a provider and a model. It never contains the key itself. */
export interface ProviderDraft {
  /** One of `PROVIDERS`. */
  readonly offered: string
  /** The name in the configuration, for a compatible server. */
  readonly name: string
  readonly baseUrl: string
  readonly key: KeySource
  readonly model: string
  readonly title: string
}

const offeredAs = (id: string): OfferedProvider =>
  PROVIDERS.find((one) => one.id === id) ?? (PROVIDERS[0] as OfferedProvider)

/** The draft for a newly chosen provider. The model and its title stay. */
export function draftFor(id: string, secrets: SecretStore, before?: ProviderDraft): ProviderDraft {
  const { variable, baseUrl = '' } = offeredAs(id)
  const source = sourceFor(variable ?? variableOf(''), secrets)
  const key: KeySource = variable === undefined ? { ...source, from: 'none' } : source
  const { model = '', title = '' } = before ?? {}
  return { offered: id, name: '', baseUrl, key, model, title }
}

/** The draft with another name. The names of its key follow, unless the user has changed them. */
export function renamed(draft: ProviderDraft, name: string, secrets: SecretStore): ProviderDraft {
  const before = sourceFor(variableOf(draft.name), secrets)
  const after = sourceFor(variableOf(name), secrets)
  const { secret, variable } = draft.key
  const key = {
    ...draft.key,
    secret: secret === before.secret ? after.secret : secret,
    variable: variable === before.variable ? after.variable : variable,
  }
  return { ...draft, name, key }
}

/** The usual name of the key of a provider. */
const variableOf = (provider: string): string => {
  const name = provider
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[_0-9]+|_+$/g, '')
  return `${name.slice(0, 48) || 'MODELS'}_API_KEY`
}

/** The name of the provider in the configuration. */
export const providerName = ({ offered, name }: ProviderDraft): string =>
  offered === 'compatible' ? name.trim() : offered

const PROVIDER_NAME = /^[A-Za-z0-9_.-]+$/

/** What is wrong, by field. */
export function providerProblems(draft: ProviderDraft): ReadonlyMap<'name' | 'baseUrl' | 'model', string> {
  const problems = new Map<'name' | 'baseUrl' | 'model', string>()
  const { offered, name, baseUrl, model } = draft
  if (offered === 'compatible') {
    if (!PROVIDER_NAME.test(name.trim())) problems.set('name', 'Use letters, digits, "_", "." and "-".')
    if (baseUrl.trim() === '') {
      problems.set('baseUrl', 'Enter the address of the API, such as https://models.example.com/v1.')
    }
  }
  if (baseUrl.trim() !== '' && !/^https?:\/\//.test(baseUrl.trim())) {
    problems.set('baseUrl', 'The address starts with https:// or http://.')
  }
  if (model.trim() === '') {
    problems.set('model', `Enter the id that the provider uses, such as ${offeredAs(offered).example}.`)
  }
  return problems
}

/** The change of the configuration. The value of a secret is sent only to write it. */
export function providerChange(draft: ProviderDraft, secret?: string) {
  const { offered, baseUrl, key, model, title } = draft
  const url = baseUrl.trim()
  const apiKey = keyChange(key, secret)
  return {
    kind: 'provider' as const,
    name: providerName(draft),
    ...(offered === 'compatible' && { type: 'openai' }),
    ...(url !== '' && url !== offeredAs(offered).baseUrl && { base_url: url }),
    ...(apiKey && { api_key: apiKey }),
    models: [{ id: model.trim(), ...(title.trim() !== '' && { name: title.trim() }) }],
  }
}

/** What a test sends: the change without the display name, which doesn't matter to the provider. */
export function testedDraft(draft: ProviderDraft, secret: string) {
  const { kind: _, ...change } = providerChange({ ...draft, title: '' }, secret)
  return change
}

export type TestedDraft = ReturnType<typeof testedDraft>
