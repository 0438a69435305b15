import type { LanguageModelV2StreamPart, LanguageModelV3StreamPart, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { FinishReason, Usage } from '../model.ts'

/** One part of a stream, in any version of the specification. */
export type StreamPart = LanguageModelV2StreamPart | LanguageModelV3StreamPart | LanguageModelV4StreamPart
type FinishPart = Extract<StreamPart, { type: 'finish' }>

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  'tool-calls': 'stop',
  length: 'length',
  'content-filter': 'content_filter',
}

/** Why an answer ended and what it cost, in any version of the specification. */
export function readFinish({ finishReason, usage }: FinishPart): {
  readonly reason: FinishReason
  readonly brokenOff: boolean
  readonly usage: Usage | undefined
} {
  const unified = typeof finishReason === 'string' ? finishReason : finishReason.unified
  return { reason: REASONS[unified] ?? 'error', brokenOff: unified === 'interrupted', usage: readUsage(usage) }
}

function readUsage({ inputTokens, outputTokens, ...rest }: FinishPart['usage']): Usage | undefined {
  const prompt = count(inputTokens)
  const completion = count(outputTokens)
  if (prompt === undefined && completion === undefined) return undefined
  const sum = (prompt ?? 0) + (completion ?? 0)
  // Version 2 says a total of its own, which may hold more than the two.
  const total = 'totalTokens' in rest ? (rest.totalTokens ?? sum) : sum
  return { prompt_tokens: prompt ?? 0, completion_tokens: completion ?? 0, total_tokens: Math.max(sum, total) }
}

const count = (tokens: number | { total: number | undefined } | undefined): number | undefined =>
  typeof tokens === 'object' ? tokens.total : tokens
