import type { Config } from '../../config/config.ts'
import { EMBEDDED_PROVIDER, isWebAddress } from '../../config/model-settings.ts'
import {
  type Environment,
  expandVariables,
  hasSourced,
  hasVariable,
  missingVariable,
  SOURCED_ELSEWHERE,
  storedSecret,
} from '../../core/environment.ts'
import { type Log, silentLog } from '../../core/log.ts'
import { redact } from '../../core/records/redact.ts'
import { type CatalogueProvider, disabledProvider } from '../../models/model-catalogue.ts'
import { ModelError } from '../../models/model-error.ts'
import type { ProviderConfig, ProviderSettings } from '../../models/provider.ts'

interface BuildOptions {
  readonly env: Environment
  readonly log: Log
  /** Creates the client of a provider. Throws a `ModelError` if something is missing. */
  readonly create: (settings: ProviderSettings) => CatalogueProvider | Promise<CatalogueProvider>
}

/**
 * Creates the configured providers and `mini`. One that lacks a key, a variable or a package is disabled with a
 * warning. `mini` warns only if it is configured or the only provider.
 */
export async function buildProviders(
  providers: Config['providers'],
  options: BuildOptions,
): Promise<CatalogueProvider[]> {
  const entries = Object.entries(providers ?? {})
  const built = entries.map(([name, provider]) => build(name, provider, options))
  if (!entries.some(([name]) => name === EMBEDDED_PROVIDER)) {
    built.push(build(EMBEDDED_PROVIDER, {}, entries.length === 0 ? options : { ...options, log: silentLog }))
  }
  return Promise.all(built)
}

async function build(name: string, provider: ProviderConfig, options: BuildOptions): Promise<CatalogueProvider> {
  for (const place of literalSecrets(name, provider)) {
    const problem = 'It contains a secret: put it into an environment variable and write "${VAR}" here'
    options.log.warn({ provider: name, place, problem }, 'Provider configured with a warning')
  }
  try {
    return await options.create(providerSettings(name, provider, options.env))
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    options.log.warn({ provider: name, place: `providers.${name}`, problem: error.message }, 'Provider disabled')
    return disabledProvider(name, error.message)
  }
}

/** Replaces the variables in a provider's settings. Throws a `ModelError` if one is not set. */
export function providerSettings(name: string, provider: ProviderConfig, env: Environment): ProviderSettings {
  const missing = new Set<string>()
  const filled = (text: string): string => {
    if (hasSourced(text)) throw new ModelError(`Provider ${name} is disabled: ${SOURCED_ELSEWHERE}.`)
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
      `Provider ${name} is disabled: its base_url isn't an http or https address. Check the variables in it.`,
    )
  }
  return settings
}

function missingVariables(name: string, variables: readonly string[]): string {
  const stored = variables.find((variable) => storedSecret(variable) !== undefined)
  if (stored !== undefined) return `Provider ${name} is disabled: ${missingVariable(stored)}.`
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
