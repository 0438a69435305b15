import type { Clock } from '../../core/clock.ts'
import type { Handler } from '../../core/handler.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { badParameter } from '../../kinds/builtin/read-parameter.ts'
import { AbortableStream } from '../../models/abortable-stream.ts'
import type { Message, Model, ModelRequest } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import { modelFailure } from '../model-failure.ts'

/** A tool that is there without being configured: what it is called by, and its code. */
export interface ModelTool {
  readonly definition: ToolDefinition
  readonly handler: Handler
}

/** The dependencies of tools that ask a model. */
export interface ModelToolParts {
  /** The model to ask, looked up on every call; undefined if none is configured. */
  readonly model: () => Promise<Model | undefined>
  readonly clock: Clock
}

/** Characters of a text that one call works on. */
export const MAX_TEXT = 200_000

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

/** Characters of a reply that are read. */
const MAX_REPLY = 200_000

/** Asks a model for one tool. It is offered no tools, so that whatever it replies is text. */
export class ModelAsker {
  readonly tool: string
  readonly #model: ModelToolParts['model']
  /** Models whose provider has refused the schema and taken the same question without it. */
  readonly #plain = new Set<string>()

  constructor(tool: string, model: ModelToolParts['model']) {
    this.tool = tool
    this.#model = model
  }

  /** The text of the reply. A model that does not answer is a `ToolExecutionError`; an abort throws its reason. */
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
      // Many servers that speak a provider's language do not know schemas for answers.
      const reply = await readText(model, request, signal)
      this.#plain.add(model.id)
      return reply
    }
  }

  #noModel(): ToolExecutionError {
    const problem = `Tool '${this.tool}' asks a model, and none is configured: add one under "providers" and "models"`
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
  throw new ModelError(`Model ${model.id} stopped in mid-answer. Try again`, { retryable: true })
}

const MAX_NAMES = 50
export const MAX_NAME = 100

/** Names that no object may have from outside. */
const FORBIDDEN = new Set(['__proto__', 'prototype', 'constructor'])

/** The schema of a list of names. */
export const namesSchema = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  minItems: 1,
  maxItems: MAX_NAMES,
} as const

/** Reads a list of names that a caller gives, each once and without space around it. */
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
