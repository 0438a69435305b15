import { requireKey, tellingOf } from '../../../models/ai-sdk/ai-sdk-wire.ts'
import type { EmbeddingWireMaker } from '../embedding-wire.ts'
import { aiSdkEmbeddings } from './ai-sdk-embeddings.ts'

const GEMINI = 'https://generativelanguage.googleapis.com/v1beta'

/** The most that one request takes. */
const BATCH = 100

const TASKS = { document: 'RETRIEVAL_DOCUMENT', query: 'RETRIEVAL_QUERY' } as const

/** The embeddings of Google's Gemini. */
export const geminiEmbeddings: EmbeddingWireMaker = (settings, around) => {
  const { base_url, headers = {} } = settings
  const key = requireKey(settings, 'GEMINI_API_KEY')
  return aiSdkEmbeddings({
    batch: BATCH,
    telling: tellingOf(settings, around),
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      const baseURL = (base_url ?? GEMINI).replace(/(?<!\/)\/+$/, '')
      const provider = createGoogle({ baseURL, apiKey: key, headers: { ...headers } })
      return (model) => provider.embedding(model)
    },
    options: (purpose) => ({ google: { taskType: TASKS[purpose] } }),
  })
}
