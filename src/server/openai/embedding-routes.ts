import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Cancellation } from '../../core/cancellation.ts'
import type { Taken } from '../../core/costs.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import { ModelError } from '../../models/model-error.ts'
import { turnCost } from '../../models/model-info.ts'
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
      const tokens = tokensOf(texts)
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

/** The request counts as a call of the caller, and ends with it. What was embedded is charged like a turn of a model. */
async function embed(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  texts: readonly string[],
  embedder: Embedder,
): Promise<Float32Array[]> {
  const { manager, budgets } = app.installation
  const { prices } = (await manager.getModels()).list().find(({ id }) => id === embedder.id) ?? {}
  const costOf = (embedded: readonly string[]) => {
    const tokens = tokensOf(embedded)
    return turnCost(prices, { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens })
  }
  const run = new ClientRun(app, request, reply)
  const { tenant } = request.caller
  const spender = { tenant, keyId: run.context.keyId, model: embedder.id }
  const vectors: Float32Array[] = []
  let taken: Taken | undefined
  try {
    await manager.getExecutor().count(run.context)
    taken = await budgets.take(spender, costOf(texts))
    const { signal } = run.context.signal as Cancellation
    for (let at = 0; at < texts.length; at += embedder.batch) {
      const batch = texts.slice(at, at + embedder.batch)
      vectors.push(...(await embedder.embed(batch, 'document', signal, tenant)))
    }
    return vectors
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    const status = error.status === 429 || error.status === 503 ? 503 : error.status === 504 ? 504 : 502
    throw new OpenAiError(status, error.message, { code: 'model_failed' })
  } finally {
    const embedded = texts.slice(0, vectors.length)
    if (embedded.length > 0 || taken?.hold !== undefined) budgets.turn(spender, costOf(embedded), taken?.hold)
    run.done()
  }
}

const tokensOf = (texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / CHARACTERS_PER_TOKEN)

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
