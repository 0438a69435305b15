import { classifyIntentTool } from './classify-intent.ts'
import { extractEntitiesTool } from './extract-entities.ts'
import type { ModelTool, ModelToolParts } from './model-tool.ts'
import { summarizeTool } from './summarize.ts'
import { tagChunkDocsTool } from './tag-chunk-docs.ts'

/** The knowledge tools that need nothing but a model. */
export const modelTools = (parts: ModelToolParts): ModelTool[] => [
  summarizeTool(parts),
  extractEntitiesTool(parts),
  classifyIntentTool(parts),
  tagChunkDocsTool(parts),
]
