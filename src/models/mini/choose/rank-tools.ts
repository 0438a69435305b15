import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { OfferedTool } from '../../model.ts'
import { gistOf } from '../engine/in-windows.ts'
import type { PairScorer } from '../engine/pair-scorer.ts'
import { readParameters } from '../fill/parameter.ts'
import { shortToolText, toolText, wordsOfName } from '../pair-texts.ts'
import { takesWholeText } from '../values/whole-text.ts'
import { sharedWords } from './shared-words.ts'
import { likelyTools } from './tool-index.ts'
import { changes, toolsToAsk } from './tools-to-ask.ts'

/** A tool, and how likely it is the one that was meant, from 0 to 1. */
export interface RankedTool {
  readonly tool: OfferedTool
  readonly relevance: number
}

/** So many of the likeliest are looked at a second time, by their names alone. */
const LOOKED_AT_TWICE = 3
const LEAST_WORDS = 3

/** The tools that may be meant, the likeliest first. */
export async function rankTools(
  tools: readonly OfferedTool[],
  said: string,
  scorer: PairScorer,
  signal?: AbortSignal,
): Promise<RankedTool[]> {
  const gist = gistOf(said)
  const likely = toolsToAsk(said, await likelyTools(tools, said))
  const described = likely.map((tool) => ({
    meant: toolText(tool.name, tool.description, parametersOf(tool)),
    said: gist,
  }))
  const scores = await scorer.score(described, signal)
  const ranked = likely
    .map((tool, index) => ({ tool, relevance: called(tool.name, said) ? 1 : (scores[index]?.relevance ?? 0) }))
    .sort(byRelevance)
  const first = ranked.slice(0, LOOKED_AT_TWICE).filter(({ tool }) => saysEnough(tool) && mayChange(tool, said))
  const short = first.map(({ tool }) => ({ meant: shortToolText(tool.name, parametersOf(tool)), said: gist }))
  const again = await scorer.score(short, signal)
  const better = first.map(({ tool, relevance }, index) => ({
    tool,
    relevance: Math.max(relevance, again[index]?.relevance ?? 0),
  }))
  return [...better, ...ranked.filter((one) => !first.includes(one))].sort(byRelevance)
}

const byRelevance = (left: RankedTool, right: RankedTool): number => right.relevance - left.relevance

/** A name like "echo" with a "text" fits anything. */
const saysEnough = (tool: OfferedTool): boolean =>
  [tool.name, ...parametersOf(tool)].map(wordsOfName).join(' ').split(' ').length >= LEAST_WORDS

/** A tool that keeps or sends any text is not meant by its parameters alone: "delete everything" is no document. */
function mayChange(tool: OfferedTool, said: string): boolean {
  const takesAnything = readParameters(tool.parameters).some(
    ({ name, description, kind, required }) => kind === 'text' && required && takesWholeText(name, description),
  )
  if (!takesAnything || !changes(tool)) return true
  const words = [tool.name, ...parametersOf(tool)].map(wordsOfName).join(' ')
  return sharedWords(`${words} ${tool.description}`, said).length > 0
}

const parametersOf = ({ parameters: { properties } }: OfferedTool): string[] =>
  isObject(properties) ? Object.keys(properties) : []

/** Whether somebody calls the tool by its name: "echo hello". */
export const called = (name: string, said: string): boolean => said.toLowerCase().startsWith(`${wordsOfName(name)} `)
