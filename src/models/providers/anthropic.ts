import { aiSdkWire, requireKey, tellingOf } from '../ai-sdk/ai-sdk-wire.ts'
import type { WireMaker } from '../provider.ts'
import { listModels, textsOf } from './list-models.ts'

const ANTHROPIC = 'https://api.anthropic.com/v1'

/** Anthropic. */
export const anthropicWire: WireMaker = (settings, around) => {
  const { base_url, headers = {} } = settings
  const key = requireKey(settings, 'ANTHROPIC_API_KEY')
  const baseURL = (base_url ?? ANTHROPIC).replace(/(?<!\/)\/+$/, '')
  const telling = tellingOf(settings, around)
  return aiSdkWire({
    dialect: 'anthropic',
    manner: { ...telling, marksFailures: true, systemAnywhere: false, declaresUsedTools: true },
    async load() {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ baseURL, apiKey: key, headers: { ...headers } })
    },
    list: (signal) =>
      listModels(
        {
          url: new URL(`${baseURL}/models?limit=1000`),
          headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', ...headers },
          readPage: ({ data, has_more, last_id }) => ({
            names: textsOf(data, 'id'),
            ...(has_more === true && typeof last_id === 'string' && { next: ['after_id', last_id] }),
          }),
        },
        signal,
        telling,
      ),
  })
}
