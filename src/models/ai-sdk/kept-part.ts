import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Metadata } from '../model.ts'

/** What a provider wants back with a part of its answer, under its own name. */
export type PartOptions = SharedV4ProviderOptions

/**
 * One part of an answer, in the order in which it came: providers sign reasoning, text and calls, and take the
 * signatures back only where they were. Text stands in the message already, so only its length is kept.
 */
export type KeptPart =
  | { readonly type: 'reasoning'; readonly text: string; readonly options?: PartOptions }
  | { readonly type: 'text'; readonly length: number; readonly options?: PartOptions }
  | { readonly type: 'call'; readonly id: string }

/** The metadata of a message that consists of these parts; none where the message alone says it all. */
export function keepParts(parts: readonly KeptPart[]): Metadata | undefined {
  const worthIt = parts.some((part) => part.type === 'reasoning' || (part.type === 'text' && part.options))
  return worthIt ? { parts } : undefined
}

/** The parts kept with a message, which may come from a store or from another kind of model. */
export function keptParts(metadata: Metadata | undefined): KeptPart[] {
  const parts = metadata?.parts
  return Array.isArray(parts) ? parts.filter(isKeptPart) : []
}

/** What a provider wants back with a call; what else the metadata holds (`recovered`) is ours. */
export function callOptions(metadata: Metadata | undefined): PartOptions | undefined {
  const kept = Object.entries(metadata ?? {}).filter(([, value]) => isObject(value))
  return kept.length > 0 ? (Object.fromEntries(kept) as PartOptions) : undefined
}

function isKeptPart(part: unknown): part is KeptPart {
  if (!isObject(part) || !(part.options === undefined || isObject(part.options))) return false
  if (part.type === 'reasoning') return typeof part.text === 'string'
  return part.type === 'text' ? typeof part.length === 'number' : part.type === 'call' && typeof part.id === 'string'
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
