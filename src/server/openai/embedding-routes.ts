import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Cancellation } from '../../core/cancellation.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import { ModelError } from '../../models/model-error.ts'
import { ClientRun } from '../chat/client-run.ts'
import { route } from '../http/route.ts'
import { refuse } from './completion-request.ts'
import { invalid, OpenAiError } from './openai-error.ts'

const MAX_TEXTS = 2_048
const CHARACTERS_PER_TOKEN = 4

const EMBEDDING_SCHEMA = {
  type: 'object',
  required: ['model', 'input'],
  additionalProperties: true,
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'The configured embedder.' },
    input: { type: ['string', 'array'], minItems: 1, maxItems: MAX_TEXTS, description: 'A text, or a list of texts.' },
    encoding_format: { enum: ['float', 'base64', null] },
    dimensions: { type: ['integer', 'null'], minimum: 1, description: 'Only those of the model.' },
  },
} as const

interface EmbeddingBody {
  readonly model: string
  readonly input: string | readonly unknown[]
  readonly encoding_format?: 'float' | 'base64' | null
  readonly dimensions?: number | null
}

/** OpenAI's embeddings, by the configured embedder. */
export function embeddingRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.post<{ Body: EmbeddingBody }>(
    '/v1/embeddings',
    route('chat', 'openai', 'OpenAI embeddings, by the configured embedder', { body: EMBEDDING_SCHEMA }),
    async (request, reply) => {
      const { caller, body } = request
      const texts = readTexts(body.input)
      const embedder = await installation.manager.getEmbedder()
      if (embedder === undefined || embedder.id !== body.model || !matchesGlobs(caller.models, embedder.id)) {
        throw unknownEmbedder(body.model, embedder, caller.models)
      }
      requireFit(texts, body, embedder)
      const vectors = await embed(app, request, reply, texts, embedder)
      const isText = body.encoding_format === 'base64'
      const tokens = Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / CHARACTERS_PER_TOKEN)
      return {
        object: 'list',
        model: embedder.id,
        data: vectors.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: isText ? base64Of(vector) : Array.from(vector),
        })),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }
    },
  )
}

/** The request counts as a call of the caller, and ends with it. */
async function embed(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  texts: readonly string[],
  embedder: Embedder,
): Promise<Float32Array[]> {
  const run = new ClientRun(app, request, reply)
  try {
    await app.installation.manager.getExecutor().count(run.context)
    const { signal } = run.context.signal as Cancellation
    const vectors: Float32Array[] = []
    for (let at = 0; at < texts.length; at += embedder.batch) {
      const batch = texts.slice(at, at + embedder.batch)
      vectors.push(...(await embedder.embed(batch, 'document', signal, request.caller.tenant)))
    }
    return vectors
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    const status = error.status === 429 || error.status === 503 ? 503 : error.status === 504 ? 504 : 502
    throw new OpenAiError(status, error.message, { code: 'model_failed' })
  } finally {
    run.done()
  }
}

function readTexts(input: string | readonly unknown[]): readonly string[] {
  const texts = typeof input === 'string' ? [input] : input
  return texts.map((text, index) => {
    const place = typeof input === 'string' ? 'input' : `input[${index}]`
    if (typeof text === 'number' || Array.isArray(text)) {
      throw invalid('input', `${place}: tokens are not supported: send texts`, 'unsupported_value')
    }
    if (typeof text !== 'string' || text.trim() === '')
      throw invalid('input', `${place} must be a text that is not empty`)
    return text
  })
}

function requireFit(texts: readonly string[], { dimensions }: EmbeddingBody, embedder: Embedder): void {
  const { id, maxCharacters = Number.POSITIVE_INFINITY } = embedder
  if (dimensions != null && dimensions !== embedder.dimensions) {
    refuse('dimensions', `dimensions must be ${embedder.dimensions}, those of ${id}, not ${dimensions}`)
  }
  const long = texts.findIndex(({ length }) => length > maxCharacters)
  if (long === -1) return
  const { length } = texts[long] as string
  throw invalid('input', `Text ${long + 1} has ${length} characters, and ${id} reads ${maxCharacters}: split it`)
}

function unknownEmbedder(model: string, embedder: Embedder | undefined, allowed: readonly string[]): OpenAiError {
  const fix =
    embedder === undefined
      ? 'this server has no embedder: set knowledge.embedder'
      : matchesGlobs(allowed, embedder.id)
        ? `use ${embedder.id}`
        : 'this API key may not use the embedder of this server'
  const message = `The embedding model '${shortened(model)}' does not exist: ${fix}`
  return new OpenAiError(404, message, { param: 'model', code: 'model_not_found' })
}

const base64Of = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64')
