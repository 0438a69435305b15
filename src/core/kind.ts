import type { Handler, IsolatedHandler } from './handler.ts'
import type { Effect, Params, ToolDefinition } from './tool.ts'
import type { CircuitState } from './tool-health.ts'

/** One way of implementing tools: one file, one line in the table of kinds, one call of the contract suite. */
export interface Kind {
  /** The effect of a tool that names none. */
  effect(tool: ToolDefinition): Effect
  /** What makes the definition unfit to be loaded. */
  problem?(tool: ToolDefinition): string | undefined
  /** What is wrong with the definition, said when it is loaded; the tool still loads, and fails when called. */
  warning?(tool: ToolDefinition): string | undefined
  /** How calls are repeated, where the definition itself does not say. */
  retry?(tool: ToolDefinition): ToolDefinition['retry']
  /** Whether the service behind a tool is asked at all. */
  circuit?(tool: ToolDefinition): CircuitState | undefined
  /** Brings the names of parameters into the form that the tool's server wants, before anything is checked. */
  rename?(tool: ToolDefinition, params: Params): Params
  /** Prepares a tool once. What it gives is asked at every call, and throws where there is nothing to run. */
  bind(tool: ToolDefinition): () => Handler | IsolatedHandler
}
