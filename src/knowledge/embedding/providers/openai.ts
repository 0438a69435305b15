import { checkKey, requireKey, tellingOf } from '../../../models/ai-sdk/ai-sdk-wire.ts'
import type { EmbeddingWireMaker } from '../embedding-wire.ts'
import { aiSdkEmbeddings } from './ai-sdk-embeddings.ts'

const OPENAI = 'https://api.openai.com/v1'

/** OpenAI takes 2,048 texts and 300,000 tokens; others that speak its language take fewer. */
const BATCH = 100

/** The embeddings of OpenAI, and of every server that speaks its language. */
export const openaiEmbeddings: EmbeddingWireMaker = (settings, around) => {
  const { base_url, headers } = settings
  const key = base_url === undefined ? requireKey(settings, 'OPENAI_API_KEY') : checkKey(settings)
  return aiSdkEmbeddings({
    batch: BATCH,
    telling: tellingOf(settings, around),
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      // Where there is no key, there is no header; the package drops what is undefined, though its types do not say so.
      const all = { ...(key === '' && { Authorization: undefined }), ...headers } as Record<string, string>
      const baseURL = (base_url ?? OPENAI).replace(/(?<!\/)\/+$/, '')
      const provider = createOpenAI({ baseURL, apiKey: key, headers: all })
      return (model) => provider.embedding(model)
    },
  })
}
