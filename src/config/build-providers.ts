import { type Environment, expandVariables, hasVariable } from '../core/expand-variables.ts'
import { type Log, silentLog } from '../core/log.ts'
import { redact } from '../core/redact.ts'
import type { CatalogueProvider } from '../models/catalogue/catalogue-provider.ts'
import { disabledProvider } from '../models/catalogue/disabled-provider.ts'
import { ModelError } from '../models/model-error.ts'
import type { ProviderSettings } from '../models/provider.ts'
import type { Config, ProviderConfig } from './config.ts'
import { isWebAddress } from './is-web-address.ts'
import { EMBEDDED_PROVIDER } from './provider-types.ts'

interface Surroundings {
  readonly env: Environment
  readonly log: Log
  /** Makes the client of a provider; throws a `ModelError` that says what it lacks. */
  readonly create: (settings: ProviderSettings) => CatalogueProvider | Promise<CatalogueProvider>
}

/**
 * The providers of a configuration, and `mini`, which needs none. One that lacks a key, a variable or a package is said
 * so of once, and from then on answers with that sentence; the others do not suffer. Of `mini` that is said only where
 * it is configured, or all that there is.
 */
export async function buildProviders(
  providers: Config['providers'],
  around: Surroundings,
): Promise<CatalogueProvider[]> {
  const entries = Object.entries(providers ?? {})
  const built = entries.map(([name, provider]) => build(name, provider, around))
  if (!entries.some(([name]) => name === EMBEDDED_PROVIDER)) {
    built.push(build(EMBEDDED_PROVIDER, {}, entries.length === 0 ? around : { ...around, log: silentLog }))
  }
  return Promise.all(built)
}

async function build(name: string, provider: ProviderConfig, around: Surroundings): Promise<CatalogueProvider> {
  for (const place of literalSecrets(name, provider)) {
    const problem = 'It holds a secret itself: put that into an environment variable, and write "${VAR}" here'
    around.log.warn({ provider: name, place, problem }, 'Provider configured with a warning')
  }
  try {
    return await around.create(providerSettings(name, provider, around.env))
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    around.log.warn({ provider: name, place: `providers.${name}`, problem: error.message }, 'Provider disabled')
    return disabledProvider(name, error.message)
  }
}

/** A provider as it is configured, with its variables replaced; throws a `ModelError` where one is missing. */
export function providerSettings(name: string, provider: ProviderConfig, env: Environment): ProviderSettings {
  const missing = new Set<string>()
  const filled = (text: string): string => {
    const expanded = expandVariables(text, env)
    for (const variable of expanded.missing) missing.add(variable)
    return expanded.text
  }
  const { base_url, api_key, headers } = provider
  const settings: ProviderSettings = {
    ...provider,
    name,
    type: provider.type ?? name,
    ...(base_url !== undefined && { base_url: filled(base_url) }),
    ...(api_key !== undefined && { api_key: filled(api_key) }),
    ...(headers && { headers: Object.fromEntries(Object.entries(headers).map(([key, text]) => [key, filled(text)])) }),
  }
  if (missing.size > 0) throw new ModelError(missingVariables(name, [...missing]))
  if (settings.base_url !== undefined && !isWebAddress(settings.base_url)) {
    throw new ModelError(
      `Provider ${name} is disabled: its base_url is no http or https address. Check the variables in it.`,
    )
  }
  return settings
}

function missingVariables(name: string, variables: readonly string[]): string {
  const lack =
    variables.length > 1
      ? `variables ${variables.join(', ')} are not set. Set them`
      : `variable ${variables[0]} is not set. Set it`
  return `Provider ${name} is disabled: the environment ${lack}, or change providers.${name}.`
}

function literalSecrets(name: string, { api_key, headers }: ProviderConfig): string[] {
  const places = Object.entries(headers ?? {})
    .filter(
      ([key, text]) =>
        !hasVariable(text) && JSON.stringify(redact({ [key]: text })) !== JSON.stringify({ [key]: text }),
    )
    .map(([key]) => `providers.${name}.headers.${key}`)
  return api_key === undefined || hasVariable(api_key) ? places : [`providers.${name}.api_key`, ...places]
}
