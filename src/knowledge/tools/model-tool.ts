import type { Clock } from '../../core/clock.ts'
import type { Handler } from '../../core/handler.ts'
import type { JsonSchema, ToolDefinition } from '../../core/tool.ts'
import type { Model } from '../../models/model.ts'

/** A tool that is there without being configured: what it is called by, and its code. */
export interface ModelTool {
  readonly definition: ToolDefinition
  readonly handler: Handler
}

/** What tools that ask a model are made of. */
export interface ModelToolParts {
  /** The model to ask, looked up with every call; undefined where there is none. */
  readonly model: () => Promise<Model | undefined>
  readonly clock: Clock
}

/** Characters of a text that one call works on. */
export const LONGEST_TEXT = 200_000

export const MODEL_TOOL_TIMEOUT_MS = 30_000

/** The definition of a builtin that only reads, under the name of its handler. */
export const builtinDefinition = (
  name: string,
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): ToolDefinition => ({
  name,
  description,
  parameters: { type: 'object', properties, required },
  implementation: { type: 'builtin', handler: name },
  effect: 'read',
  timeout_ms: MODEL_TOOL_TIMEOUT_MS,
})

/** The schema of an answer: an object that has these properties and no others. */
export const answerSchema = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
