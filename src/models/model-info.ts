import type { Described } from '../core/json/described.ts'
import type { Usage } from './model.ts'

export const PRICES_SCHEMA = {
  type: 'object',
  description: 'Per million tokens, in costs.currency. Without it, the cost of turns is unknown.',
  required: ['input', 'output'],
  additionalProperties: false,
  properties: {
    input: { type: 'number', minimum: 0 },
    output: { type: 'number', minimum: 0 },
    cached_input: {
      type: 'number',
      minimum: 0,
      description: 'For input tokens that the provider read from its cache. Default: input.',
    },
  },
} as const

/** Per million tokens. */
export interface ModelPrices extends Described<typeof PRICES_SCHEMA> {}

export const MODEL_SCHEMA = {
  type: 'object',
  required: ['id', 'name', 'capabilities'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', description: 'provider:model, split at the first colon.' },
    name: { type: 'string', minLength: 1 },
    capabilities: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description:
        'function-calling enables tools; image-input, audio-input, file-input or text-input say which media the model takes.',
    },
    prices: PRICES_SCHEMA,
    printed_calls: {
      enum: ['off', 'read', 'all'],
      description:
        'Which tools run if the model prints a call as text: none, those with effect read, or all. Default: read.',
    },
  },
} as const

/** A model of the configuration, or of its provider's list. */
export interface ModelInfo extends Described<typeof MODEL_SCHEMA> {}

/** Which calls run if the model prints them as text: none, those of read-only tools, or all. */
export type PrintedCalls = NonNullable<ModelInfo['printed_calls']>

/** Undefined without prices. */
export function costOf(prices: ModelPrices, prompt: number, completion: number): number
export function costOf(prices: ModelPrices | undefined, prompt: number, completion: number): number | undefined
export function costOf(prices: ModelPrices | undefined, prompt: number, completion: number): number | undefined {
  return prices && (prompt * prices.input + completion * prices.output) / 1_000_000
}

/** Whether these are numbers of tokens: a provider may report anything, and a budget that counts NaN has no end. */
export function isCount({ prompt_tokens, completion_tokens, total_tokens, cached_tokens = 0 }: Usage): boolean {
  const all = [prompt_tokens, completion_tokens, total_tokens, cached_tokens]
  return all.every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)
}

/** The cost of a turn in millionths of the currency; undefined without prices, or if the usage is missing or invalid. */
export function turnCost(prices: ModelPrices | undefined, usage: Usage | undefined): number | undefined {
  if (prices === undefined || usage === undefined) return undefined
  const { prompt_tokens, completion_tokens, cached_tokens = 0 } = usage
  const cached = Math.min(cached_tokens, prompt_tokens)
  const { input, output, cached_input = input } = prices
  // Prices are per million tokens, so the sum is in millionths.
  const micros = Math.round((prompt_tokens - cached) * input + cached * cached_input + completion_tokens * output)
  return isCount(usage) && Number.isSafeInteger(micros) ? micros : undefined
}

/** The id of a rule's model. Its name may already start with the provider. */
export const ruleModelId = ({ llm, model }: { readonly llm: string; readonly model: string }): string =>
  model.startsWith(`${llm}:`) ? model : `${llm}:${model}`

/** Splits `provider:model` at the first colon; model names may contain colons (`ollama:llama3.2:3b`). */
export function splitModelId(id: string): { readonly provider: string; readonly model: string } | undefined {
  const colon = id.indexOf(':')
  if (colon < 1 || colon === id.length - 1) return undefined
  return { provider: id.slice(0, colon), model: id.slice(colon + 1) }
}
