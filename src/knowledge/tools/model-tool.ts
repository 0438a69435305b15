import type { Clock } from '../../core/clock.ts'
import type { Handler } from '../../core/handler.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { badParameter } from '../../kinds/builtin/read-parameter.ts'
import { AbortableStream } from '../../models/abortable-stream.ts'
import type { Message, Model, ModelRequest } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import { modelFailure } from '../model-failure.ts'

/** A built-in tool with its handler. */
export interface ModelTool {
  readonly definition: ToolDefinition
  readonly handler: Handler
}

export interface ModelToolParts {
  /** Looked up on every call; undefined if no model is configured. */
  readonly model: () => Promise<Model | undefined>
  readonly clock: Clock
}

export const MAX_TEXT = 200_000

export const MODEL_TOOL_TIMEOUT_MS = 30_000

/** The definition of a read-only built-in tool. */
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

/** The schema of an object with exactly these properties. */
export const answerSchema = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const MAX_REPLY = 200_000

/** Asks the model on behalf of a tool. Offers no tools, so that replies are text. */
export class ModelAsker {
  readonly tool: string
  readonly #model: ModelToolParts['model']
  /** Models whose provider rejects response schemas. */
  readonly #plain = new Set<string>()

  constructor(tool: string, model: ModelToolParts['model']) {
    this.tool = tool
    this.#model = model
  }

  /** Throws a `ToolExecutionError` if the model fails, and the signal's reason on abort. */
  async ask(messages: readonly Message[], schema: JsonSchema, signal: AbortSignal): Promise<string> {
    try {
      const model = await this.#model()
      if (model === undefined) throw this.#noModel()
      return await this.#askShaped(model, { messages, tools: [], temperature: 0, signal }, schema, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw modelFailure(error, this.tool)
    }
  }

  async #askShaped(model: Model, request: ModelRequest, schema: JsonSchema, signal: AbortSignal): Promise<string> {
    if (this.#plain.has(model.id)) return readText(model, request, signal)
    try {
      return await readText(model, { ...request, response_schema: schema }, signal)
    } catch (error) {
      if (!(error instanceof ModelError) || (error.status !== 400 && error.status !== 422)) throw error
      // Many compatible servers don't support response schemas.
      const reply = await readText(model, request, signal)
      this.#plain.add(model.id)
      return reply
    }
  }

  #noModel(): ToolExecutionError {
    const problem = `Tool '${this.tool}' needs a model, but none is configured: add one under "providers" and "models"`
    return new ToolExecutionError('EXECUTION_ERROR', problem)
  }
}

async function readText(model: Model, request: ModelRequest, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  let text = ''
  for await (const event of new AbortableStream(model.stream(request), signal)) {
    if (event.type === 'text-delta') text += event.text
    if (event.type === 'finish' || text.length > MAX_REPLY) return text.slice(0, MAX_REPLY).toWellFormed()
  }
  throw new ModelError(`The response of model ${model.id} ended early. Try again`, { retryable: true })
}

const MAX_NAMES = 50
export const MAX_NAME = 100

const FORBIDDEN = new Set(['__proto__', 'prototype', 'constructor'])

export const namesSchema = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  minItems: 1,
  maxItems: MAX_NAMES,
} as const

/** Reads a list of distinct, trimmed names. */
export function readNames(params: Params, name: string): readonly string[] | undefined {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_NAMES) {
    throw badParameter(`${name} must be a list of 1 to ${MAX_NAMES} names`)
  }
  return [...new Set(value.map((one) => checked(one, name)))]
}

function checked(given: unknown, name: string): string {
  const text = typeof given === 'string' ? given.trim() : ''
  if (text === '' || text.length > MAX_NAME) {
    throw badParameter(`each of ${name} must be a text of 1 to ${MAX_NAME} characters`)
  }
  if (FORBIDDEN.has(text)) throw badParameter(`${name} must not hold '${text}'`)
  return text
}
