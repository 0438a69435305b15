import { loadCompiler } from '../core/execution/bound-tool.ts'
import { objectProblems } from '../core/execution/parameter-check.ts'
import type { ReadSchema, Refinement } from '../core/schema/json-schema-of.ts'
import { shortened } from '../core/schema/problem-words.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import type { Message, ModelRequest, OfferedTool, ToolCall } from '../models/model.ts'
import { readObject } from '../models/read-json.ts'
import type { PendingApproval, RunAnswer, RunRequest, StopReason } from './run.ts'
import type { TurnReader } from './turn-reader.ts'

/** How a run ended. */
export interface Ending {
  readonly reason: StopReason
  readonly content?: string
  readonly error?: string
  /** How the provider failed. */
  readonly provider?: Pick<RunAnswer, 'error_status' | 'retry_after_ms'>
  /** The exhausted limit, as part of a sentence. */
  readonly limit?: string
  readonly approvals?: readonly PendingApproval[]
  /** The calls of client tools, and their turn. */
  readonly handBack?: { readonly turn: TurnReader; readonly calls: readonly ToolCall[] }
}

const MAX_PROBLEMS = 10

/** Compiling a schema is expensive, and a run may be checked twice: before it is stored, and by the loop. */
const checkable = new WeakSet<ReadSchema>()

/** The rules of a library may need a whole value. Only the schema is checked. */
const NO_RULES: Refinement = { validate: (value) => ({ value }), fillsDefaults: true }

/** Throws a TypeError if answers could not be checked against the schema. `place` is where it was given. */
export async function requireCheckable(output: ReadSchema, place: string): Promise<void> {
  if (checkable.has(output)) return
  await loadCompiler()
  try {
    const { schema, refinement } = output
    await objectProblems({ schema, ...(refinement && { refinement: NO_RULES }) }, {})
  } catch (cause) {
    throw new TypeError(`${place} cannot be used: ${(cause as Error).message}`, { cause })
  }
  checkable.add(output)
}

/** The output in a text, and the text without anything around it; otherwise what is wrong with it. */
async function readOutput(
  output: ReadSchema,
  said: string,
): Promise<{ readonly value: unknown; readonly text: string } | { readonly problem: string }> {
  await loadCompiler()
  const text = withoutFence(said.trim())
  const given = readObject(text)
  if (given === undefined) return { problem: 'it is not a JSON object' }
  try {
    const { problems, value } = await objectProblems(output, given)
    if (problems.length === 0) return { value, text }
    const more = problems.length - MAX_PROBLEMS
    const rest = more > 0 ? ` and ${more} more` : ''
    return { problem: `${shortened(problems.slice(0, MAX_PROBLEMS).join(', '))}${rest}` }
  } catch (error) {
    if (error instanceof ToolExecutionError) return { problem: error.message }
    throw error
  }
}

/** Models like to write JSON as a code block. */
function withoutFence(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```') || !text.includes('\n')) return text
  return text.slice(text.indexOf('\n') + 1, -3).trim()
}

/** A request that is being made. */
export type Draft = { -readonly [Key in keyof ModelRequest]: ModelRequest[Key] }

/** A turn that was compared with what the run demands. */
export interface Settled {
  /** The text that clients may see. */
  readonly text: string
  /** Undefined if the run goes on. */
  readonly ending?: Ending | undefined
  /** What the model is told, if it has to correct the turn. */
  readonly again?: string
}

/** What a run demands of its model: calls before an answer, or an answer of a schema. */
export class Demands {
  readonly #request: RunRequest
  readonly #messages: Message[]
  readonly #onMessage: (message: Message) => void
  #mustCall: boolean
  /** Where the messages begin that ask the model to correct its turn. */
  #correction: number | undefined = undefined
  /** The parsed answer. */
  output: unknown = undefined

  constructor(request: RunRequest, messages: Message[], onMessage: (message: Message) => void) {
    this.#request = request
    this.#messages = messages
    this.#onMessage = onMessage
    this.#mustCall = request.tool_choice !== undefined
  }

  /** Whether clients see the text of a turn only when it is known to be what was asked for. */
  get holdText(): boolean {
    return this.#mustCall || this.#request.output !== undefined
  }

  /** A tool that must be called is the only one. A model that corrects its answer gets none: then providers enforce it. */
  toolsOf(offered: readonly OfferedTool[]): readonly OfferedTool[] {
    const { tool_choice: choice } = this.#request
    if (!this.#mustCall) return this.#correction === undefined ? offered : []
    return typeof choice === 'object' ? offered.filter(({ name }) => name === choice.name) : offered
  }

  addTo(request: Draft, last: boolean): void {
    const { output, model } = this.#request
    if (this.#mustCall && !last) request.tool_choice = 'required'
    if (output === undefined) return
    request.response_schema = output.schema
    const isEnforced = model.enforces?.(output.schema, request.tools.length > 0) === true
    if (!isEnforced) request.messages = withInstruction(request.messages, output)
  }

  /**
   * A turn that isn't what was asked for is corrected once, and then ends the run. `stored`: what the model was told about it
   * before the run continued.
   */
  async settle(turn: TurnReader, ending: Ending | undefined, stored: string | undefined): Promise<Settled> {
    const { output } = this.#request
    if (stored !== undefined) return this.#correct(turn, stored, stored)
    const isAnswer = ending?.reason === 'stop' && ending.handBack === undefined
    if (isAnswer && this.#mustCall) {
      return this.#correct(turn, 'did not call a tool', 'You must call a tool before you answer. Call it now.')
    }
    if (isAnswer && output !== undefined) {
      const read = await readOutput(output, turn.text)
      if ('problem' in read)
        return this.#correct(turn, `did not answer as requested: ${read.problem}`, again(read.problem))
      this.output = read.value
      this.#corrected()
      return { text: read.text, ending: { ...ending, content: read.text } }
    }
    const hasCalls = turn.calls.length > 0
    if (hasCalls) this.#corrected()
    const isTold = hasCalls ? output === undefined : ending?.reason !== 'error'
    return { text: isTold ? turn.text : '', ending }
  }

  /** The text of the last turn after a limit. There is no turn left to correct it: what doesn't fit isn't shown. */
  async concluded({ text }: TurnReader): Promise<string> {
    const { output } = this.#request
    if (output === undefined) return text
    const read = await readOutput(output, text)
    return 'problem' in read ? '' : read.text
  }

  #correct({ text }: TurnReader, problem: string, advice: string): Settled {
    if (this.#correction !== undefined) {
      const error = `Model ${this.#request.model.id} ${problem}. Ask again, or use another model`
      return { text: '', ending: { reason: 'error', error, provider: { error_status: 422 } } }
    }
    this.#correction = this.#messages.length
    const said: readonly Message[] = text === '' ? [] : [{ role: 'assistant', content: text }]
    for (const message of [...said, { role: 'user', content: advice } as const]) {
      this.#messages.push(message)
      this.#onMessage(message)
    }
    return { text: '', again: advice }
  }

  /** Removes the messages about the correction. */
  #corrected(): void {
    this.#mustCall = false
    if (this.#correction !== undefined) this.#messages.splice(this.#correction)
    this.#correction = undefined
  }
}

const again = (problem: string): string =>
  `Your answer can't be used: ${problem}. Answer again, with a JSON object that matches the schema and nothing else.`

/** The conversation for a model whose provider doesn't enforce the schema. */
function withInstruction(messages: readonly Message[], { schema }: ReadSchema): readonly Message[] {
  const instruction = `Answer with one JSON object that matches this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`
  const [first, ...rest] = messages
  if (first?.role !== 'system') return [{ role: 'system', content: instruction }, ...messages]
  return [{ ...first, content: `${first.content}\n\n${instruction}` }, ...rest]
}
