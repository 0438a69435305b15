import type { LanguageModelV4 } from '@ai-sdk/provider'
import { ModelError } from '../model-error.ts'
import type { ProviderSettings, ProviderSurroundings, Wire } from '../provider.ts'
import { type AskingManner, askAiSdk } from './ask-ai-sdk.ts'

/** One provider of the AI SDK. */
export interface AiSdkWire extends Pick<Wire, 'dialect' | 'printsCalls' | 'list'> {
  readonly manner: AskingManner
  /** Loads the package with the first question. */
  load(): Promise<(model: string) => LanguageModelV4>
}

/** The wire to a provider of the AI SDK. */
export function aiSdkWire({ manner, load, ...wire }: AiSdkWire): Wire {
  let loading: ReturnType<typeof load> | undefined
  return {
    ...wire,
    async *stream(model, request) {
      loading ??= load()
      const make = await loading
      yield* askAiSdk(make(model), request, manner)
    },
  }
}

/** What must not be told of a provider, and its clock. */
export const tellingOf = ({ api_key, headers = {} }: ProviderSettings, { clock }: ProviderSurroundings) => ({
  clock,
  secrets: [...(api_key === undefined ? [] : [api_key]), ...Object.values(headers)],
})

/** The key of a provider that has none of its own to fall back on. */
export function requireKey({ name, api_key }: ProviderSettings, variable: string): string {
  if (api_key === undefined || api_key.trim() === '') {
    throw new ModelError(
      `Provider "${name}" has no api_key. Set providers.${name}.api_key, for example to "\${${variable}}".`,
    )
  }
  return checkKey({ name, api_key })
}

/** Refuses what no header can carry, which the platform would print in full. */
export function checkKey({ name, api_key = '' }: Pick<ProviderSettings, 'name' | 'api_key'>): string {
  const key = api_key.trim()
  if (/[^\x21-\x7e]/.test(key)) {
    throw new ModelError(`providers.${name}.api_key has a space, a line break or a letter that no key has. Check it.`)
  }
  return key
}
