import { intentPattern } from '../chat/rules/intent-pattern.ts'
import { hasVariable } from '../core/expand-variables.ts'
import { readRange } from '../kinds/http/network/address-rules.ts'
import { NetworkRules } from '../kinds/http/network/network-rules.ts'
import type { Config, ProviderConfig } from './config.ts'
import { isWebAddress } from './is-web-address.ts'
import { knowledgeProblems } from './knowledge-problems.ts'
import { mcpProblems } from './mcp-problems.ts'
import { modelProblem, providerNotFound } from './model-problem.ts'
import { EMBEDDED_PROVIDER, FORMER_PROVIDER, FORMER_PROVIDER_GONE, PROVIDER_TYPES } from './provider-types.ts'

/** What a schema cannot say of a configuration that fits it: each problem with its path and what to do. */
export function configProblems(config: Config): string[] {
  const { providers = {}, models = [], responses = [] } = config
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
    ...knowledgeProblems(config, known),
    ...mcpProblems(config),
  ]
}

/** An address or a domain that is none would open nothing, or close nothing, and nobody would know. */
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
    return [`${place}.type is missing, and '${name}' is none: give it one of ${PROVIDER_TYPES.join(', ')}.`]
  }
  const problems: string[] = []
  const { base_url, api, grammar } = provider
  if (base_url !== undefined && !hasVariable(base_url) && !isWebAddress(base_url)) {
    problems.push(`${place}.base_url must be an http or https address, such as http://127.0.0.1:11434.`)
  }
  if (api !== undefined && type !== 'openai') problems.push(`${place}.api is for the type openai only: remove it.`)
  if (grammar !== undefined && type !== 'llama')
    problems.push(`${place}.grammar is for the type llama only: remove it.`)
  return problems
}

function twice(id: string, index: number, ids: readonly string[]): string[] {
  const first = ids.indexOf(id)
  return first < index ? [`models[${index}].id '${id}' is at models[${first}] already: remove one of them.`] : []
}

function patternProblem(literal: string | undefined, place: string): string[] {
  try {
    if (literal !== undefined) intentPattern(literal)
    return []
  } catch (error) {
    return [`${place} '${literal}' ${error instanceof Error ? error.message : error}.`]
  }
}
