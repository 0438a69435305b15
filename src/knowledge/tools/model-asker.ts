import type { JsonSchema } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { AbortableStream } from '../../models/abortable-stream.ts'
import type { Message, Model, ModelRequest } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import { modelFailure } from './model-failure.ts'
import type { ModelToolParts } from './model-tool.ts'

/** Characters of a reply that are read. */
const LONGEST_REPLY = 200_000

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
    if (event.type === 'finish' || text.length > LONGEST_REPLY) return text.slice(0, LONGEST_REPLY).toWellFormed()
  }
  throw new ModelError(`Model ${model.id} stopped in mid-answer. Try again`, { retryable: true })
}
