import { toModelError } from '../../../models/ai-sdk/to-model-error.ts'
import { ModelError } from '../../../models/model-error.ts'
import { ollamaFetch } from '../../../models/providers/ollama.ts'
import type { EmbeddingWireMaker } from '../embedding-wire.ts'

const DEFAULT_URL = 'http://127.0.0.1:11434'

/** Without a graphics card a longer request than this holds up everybody else's. */
const BATCH = 32

/** The embeddings of an Ollama server, through its own client. */
export const ollamaEmbeddings: EmbeddingWireMaker = async (settings, { clock }) => {
  const { Ollama } = await import('ollama')
  const { name: provider, base_url: host = DEFAULT_URL, api_key, headers: more } = settings
  if (!URL.canParse(host)) {
    throw new ModelError(`providers.${provider}.base_url is not a URL. Write it like ${DEFAULT_URL}`)
  }
  const headers = { ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }), ...more }
  const secrets = [...(api_key !== undefined ? [api_key] : []), ...Object.values(headers)]
  return {
    batch: BATCH,
    async embed(model, { texts, signal }) {
      signal.throwIfAborted()
      const telling = { provider, model, clock, secrets }
      const client = new Ollama({ host, headers, fetch: ollamaFetch(telling, signal) })
      try {
        return (await client.embed({ model, input: [...texts] })).embeddings
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof SyntaxError) {
          throw new ModelError(`What was answered is no JSON. Check that providers.${provider}.base_url is Ollama's.`)
        }
        throw toModelError(error, telling)
      }
    },
  }
}
