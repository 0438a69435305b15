import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { OfferedTool } from '../../model.ts'
import type { PairScorer } from '../engine/pair-scorer.ts'
import { toolText, wordsOfName } from '../pair-texts.ts'
import { likelyTools } from './tool-index.ts'
import { toolsToAsk } from './tools-to-ask.ts'

/** A tool, and how likely it is the one that was meant, from 0 to 1. */
export interface RankedTool {
  readonly tool: OfferedTool
  readonly relevance: number
}

/** The tools that may be meant, the likeliest first. */
export async function rankTools(
  tools: readonly OfferedTool[],
  said: string,
  scorer: PairScorer,
  signal?: AbortSignal,
): Promise<RankedTool[]> {
  const likely = toolsToAsk(said, await likelyTools(tools, said))
  const pairs = likely.map(({ name, description, parameters: { properties } }) => ({
    meant: toolText(name, description, isObject(properties) ? Object.keys(properties) : []),
    said,
  }))
  const scores = await scorer.score(pairs, signal)
  return likely
    .map((tool, index) => ({ tool, relevance: called(tool.name, said) ? 1 : (scores[index]?.relevance ?? 0) }))
    .sort((left, right) => right.relevance - left.relevance)
}

/** Whether somebody calls the tool by its name: "echo hello". */
const called = (name: string, said: string): boolean => said.toLowerCase().startsWith(`${wordsOfName(name)} `)
