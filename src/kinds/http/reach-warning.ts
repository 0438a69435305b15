import { type Environment, variableIn } from '../../core/expand-variables.ts'
import type { HttpImplementation } from './http-implementation.ts'
import type { NetworkRules } from './network/network-rules.ts'
import { expandUrl } from './request/expand-url.ts'

/** Why every call of a tool will be refused, where its address alone says so: names are looked up when it is called. */
export function reachWarning(
  { url, auth, allowed_domains }: HttpImplementation,
  env: Environment,
  rules: NetworkRules,
): string | undefined {
  for (const written of auth?.type === 'oauth2' ? [url, auth.token_url] : [url]) {
    const asked = URL.parse(expandUrl(written, (name) => variableIn(env, name) ?? '').text)
    const refusal = asked === null ? undefined : rules.forTool(asked, allowed_domains).refusal(asked)
    if (refusal !== undefined) return `It leads where it must not. ${refusal}`
  }
  return undefined
}
