import type { LoopContender } from '../loop-contender.ts'
import { aiSdk } from './ai-sdk.ts'
import { genkit } from './genkit.ts'
import { handWritten } from './hand-written.ts'
import { langchain } from './langchain.ts'
import { langgraph } from './langgraph.ts'
import { mastra } from './mastra.ts'
import { openaiAgents } from './openai-agents.ts'
import { toolyard, toolyardTold } from './toolyard.ts'

/** Every loop that is measured, in the order of the table. */
export const loopContenders: readonly LoopContender[] = [
  handWritten,
  toolyard,
  toolyardTold,
  genkit,
  aiSdk,
  openaiAgents,
  langchain,
  langgraph,
  mastra,
]
