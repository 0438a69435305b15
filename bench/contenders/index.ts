import type { Contender } from '../contender.ts'
import { aiSdkAjv, aiSdkBare, aiSdkZod } from './ai-sdk.ts'
import { floor } from './floor.ts'
import { genkit } from './genkit.ts'
import { langchain } from './langchain.ts'
import { langgraph } from './langgraph.ts'
import { mastra } from './mastra.ts'
import { mcp } from './mcp.ts'
import { openaiAgents, openaiAgentsTimeout } from './openai-agents.ts'
import { toolyardContenders } from './toolyard.ts'

/** Everything that is measured, in the order of the table. */
export const contenders: readonly Contender[] = [
  floor,
  ...toolyardContenders,
  mastra,
  aiSdkBare,
  aiSdkAjv,
  aiSdkZod,
  openaiAgents,
  openaiAgentsTimeout,
  genkit,
  mcp,
  langchain,
  langgraph,
]
