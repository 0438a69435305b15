import { aiSdkWire, requireKey, tellingOf } from '../ai-sdk/ai-sdk-wire.ts'
import type { WireMaker } from '../provider.ts'
import { listModels, textsOf } from './list-models.ts'

const GEMINI = 'https://generativelanguage.googleapis.com/v1beta'

/** Google's Gemini. */
export const geminiWire: WireMaker = (settings, around) => {
  const { base_url, headers = {} } = settings
  const key = requireKey(settings, 'GEMINI_API_KEY')
  const baseURL = (base_url ?? GEMINI).replace(/(?<!\/)\/+$/, '')
  const telling = tellingOf(settings, around)
  return aiSdkWire({
    dialect: 'gemini',
    manner: { ...telling, marksFailures: true, systemAnywhere: false },
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ baseURL, apiKey: key, headers: { ...headers } })
    },
    list: (signal) =>
      listModels(
        {
          url: new URL(`${baseURL}/models?pageSize=1000`),
          headers: { 'x-goog-api-key': key, ...headers },
          readPage: ({ models, nextPageToken }) => ({
            // They are listed as `models/NAME` and asked for as NAME.
            names: textsOf(models, 'name').map((name) => name.replace(/^models\//, '')),
            ...(typeof nextPageToken === 'string' && nextPageToken !== '' && { next: ['pageToken', nextPageToken] }),
          }),
        },
        signal,
        telling,
      ),
  })
}
