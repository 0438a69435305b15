import { aiSdkWire, checkKey, requireKey, tellingOf } from '../ai-sdk/ai-sdk-wire.ts'
import type { WireMaker } from '../provider.ts'
import { listModels, textsOf } from './list-models.ts'

const OPENAI = 'https://api.openai.com/v1'

/** OpenAI, and every server that speaks its language. */
export const openaiWire: WireMaker = (settings, around) => {
  const { base_url, headers } = settings
  const own = base_url === undefined
  const api = settings.api ?? (own ? 'responses' : 'chat')
  const key = own ? requireKey(settings, 'OPENAI_API_KEY') : checkKey(settings)
  const baseURL = (base_url ?? OPENAI).replace(/(?<!\/)\/+$/, '')
  const telling = tellingOf(settings, around)
  return aiSdkWire({
    dialect: 'openai',
    // Local models behind such servers often do.
    ...(!own && { printsCalls: true }),
    manner: {
      ...telling,
      marksFailures: false,
      systemAnywhere: true,
      // Nothing is left at the provider, so what it reasoned comes back to us, sealed, and goes with the next question.
      ...(api === 'responses' && { providerOptions: { openai: { store: false } } }),
    },
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      const keyless = key === '' && { Authorization: undefined }
      // Without a key there is no header: the package drops undefined values, although its types forbid them.
      const all = { ...keyless, ...headers } as Record<string, string>
      return createOpenAI({ baseURL, apiKey: key, headers: all })[api]
    },
    list: (signal) =>
      listModels(
        {
          url: new URL(`${baseURL}/models`),
          headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...headers },
          readPage: ({ data }) => ({ names: textsOf(data, 'id') }),
        },
        signal,
        telling,
      ),
  })
}
