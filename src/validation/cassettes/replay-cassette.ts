import type { RunAnswer } from '../../chat/run.ts'
import { ToolLoop } from '../../chat/tool-loop.ts'
import type { Budgets } from '../../core/costs.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { Kind } from '../../core/handler.ts'
import { canonicalText } from '../../core/json/canonical-text.ts'
import { parseJson } from '../../core/json/json-depth.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError, type ToolFailure, type ToolResult } from '../../core/tool-result.ts'
import { textMessage } from '../../models/content.ts'
import type { FinishReason, Message, Model, ModelEvent } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import type { ModelPrices } from '../../models/model-info.ts'
import { type Cassette, CassetteError, readCassette } from './cassette.ts'

export interface ReplayOptions {
  /** `loose` accepts recorded results of any call with the same tool and parameters; `strict` is the default. */
  readonly mode?: ReplayMode
  /** Answers instead of the recorded model, with the same tools. */
  readonly model?: Model
  /** What it costs, and the budgets that it counts against. */
  readonly prices?: ModelPrices | undefined
  readonly budgets?: Budgets
  readonly keyId?: string | undefined
  readonly signal?: AbortSignal
  /** Whose turn it takes at a model that tenants share. */
  readonly tenant?: string
}

interface Replayed {
  readonly answer: RunAnswer
  readonly messages: readonly Message[]
  readonly unused: number
}

/**
 * Runs a cassette through the real loop and executor, with a model and tools that answer from the recording. Rejects
 * with a `CassetteError` that names the first difference.
 */
export async function replayCassette(value: Cassette, options: ReplayOptions = {}): Promise<Replayed> {
  const { mode = 'strict', model, prices, budgets, signal, tenant, keyId } = options
  const cassette = readCassette(value)
  if (mode === 'strict' && cassette.incomplete.length > 0) {
    throw new CassetteError(
      `The cassette of run '${cassette.run_id}' is incomplete and can only be replayed in loose mode: ${cassette.incomplete.join(' ')}`,
    )
  }
  const replay = new Replay(cassette, mode)
  const { registry, executor } = replayTools(cassette, replay)
  const { messages, offered, client_tools, max_iterations, max_tokens, temperature, budget } = cassette.request
  // No time passes in a replay.
  const { wall_time_ms: __, ...spent } = budget ?? {}
  const run = new ToolLoop(registry, executor, { ...(model !== undefined && budgets && { budgets }) }).run({
    max_iterations,
    max_tokens,
    temperature,
    ...(client_tools && { client_tools }),
    ...(cassette.request.prices && { prices: cassette.request.prices }),
    ...(model !== undefined && prices && { prices }),
    messages,
    model: model === undefined ? replayModel(cassette, replay) : watched(model, cassette, replay),
    service: cassette.service,
    // Unknown tools of the run are registered too; don't offer them to another model.
    ...(model !== undefined && { allowed_tools: offered }),
    prior_calls: cassette.calls.filter(({ iteration }) => iteration === 0),
    budget: spent,
    context: { tenant, keyId, signal: signal === undefined ? replay.signal : AbortSignal.any([replay.signal, signal]) },
  })
  let ended: Omit<Replayed, 'unused'> | undefined
  for await (const event of run) if (event.type === 'answer') ended = event
  replay.check()
  if (ended === undefined) throw new Error('The run ended without an answer')
  if (mode === 'strict') checkEnd(cassette, replay, ended.answer)
  return { answer: ended.answer, messages: ended.messages, unused: replay.unused }
}

/** Shows another model the recorded tool schemas: the replay's own accept any parameters. */
const watched = (model: Model, { request: { tools } }: Cassette, replay: Replay): Model => ({
  id: model.id,
  stream(request) {
    replay.begin(request.messages)
    const shown = request.tools.map((tool) => tools.find(({ name }) => name === tool.name) ?? tool)
    return model.stream({ ...request, tools: shown })
  },
})

function checkEnd({ turns, answer: was }: Cassette, replay: Replay, is: RunAnswer): void {
  if (replay.turns < turns.length) throw replay.fail(`the run ended, but the cassette has ${turns.length} turns`)
  if (replay.unused > 0) throw replay.fail(`the run ended, but ${replay.unused} calls of the cassette were not made`)
  for (const part of ['stop_reason', 'content', 'final_answer', 'error'] as const) {
    if (was[part] === is[part]) continue
    throw replay.fail(
      `the ${part} of the answer was ${canonicalText(was[part])}, but is now ${canonicalText(is[part])}`,
    )
  }
}

/** Accepts any parameters: invalid ones are recorded as results, and redacted secrets have another type. */
const ANY_PARAMETERS = { type: 'object' }

/** Registers tools that return the recorded results, including tools that didn't exist in the run. */
function replayTools(cassette: Cassette, replay: Replay): { registry: ToolRegistry; executor: ToolExecutor } {
  const registry = new ToolRegistry()
  const shown = new Map(cassette.request.tools.map((tool) => [tool.name, tool]))
  const names = new Set([...cassette.request.offered, ...cassette.calls.map(({ tool }) => tool)])
  for (const name of names) {
    if (name !== '') registry.register(definitionOf(name, shown.get(name)?.description ?? name))
  }
  const kind: Kind = {
    effect: () => 'write',
    bind:
      ({ name }) =>
      () =>
      (params) => {
        const result = replay.resultOf(name, params)
        if (result.success) return result.result
        throw thrown(result)
      },
  }
  return { registry, executor: new ToolExecutor(registry, { kinds: { cassette: kind } }) }
}

const definitionOf = (name: string, description: string): ToolDefinition => ({
  name,
  description,
  parameters: ANY_PARAMETERS,
  implementation: { type: 'cassette' },
})

function thrown({ error, error_code, details, suggestions, outcome }: ToolFailure): ToolExecutionError {
  const extras = {
    ...(details !== undefined && { details }),
    ...(suggestions !== undefined && { suggestions }),
    ...(outcome !== undefined && { outcome }),
  }
  // A call without an outcome was never sent.
  return new ToolExecutionError(error_code, error, extras, { repeat: { neverLeft: outcome === undefined } })
}

function replayModel(cassette: Cassette, replay: Replay): Model {
  const { turns, answer } = cassette
  return {
    id: cassette.model,
    async *stream({ messages, signal }): AsyncGenerator<ModelEvent> {
      const turn = turns[replay.begin(messages) - 1]
      if (turn === undefined) {
        if (answer.stop_reason !== 'cancelled') throw replay.fail('the model gets one more request than in the run')
        replay.cancel()
        signal?.throwIfAborted()
        return
      }
      if (turn.text !== '') yield { type: 'text-delta', text: turn.text }
      for (const { id, name, arguments: args, recovered } of turn.calls) {
        const call = { id, type: 'function', function: { name, arguments: args } } as const
        yield { type: 'tool-call-start', id, name }
        yield { type: 'tool-call-delta', id, text: args }
        yield { type: 'tool-call-end', call: recovered ? { ...call, metadata: { recovered } } : call }
      }
      if (turn.error !== undefined) throw new ModelError(turn.error)
      if (turn.finish_reason === 'cancelled') {
        replay.cancel()
        signal?.throwIfAborted()
        return
      }
      // The recording doesn't contain the original error, which may hold secrets.
      if (turn === turns.at(-1) && answer.error !== undefined) throw new Error('The model failed')
      const { finish_reason, usage } = turn
      yield { type: 'finish', reason: finish_reason as FinishReason, ...(usage !== undefined && { usage }) }
    },
  }
}

type ReplayMode = 'strict' | 'loose'

interface Answer {
  readonly iteration: number
  readonly tool: string
  readonly params: string
  readonly result: ToolResult
  used: boolean
}

/** The state of a replay: its turn, the results given so far, and the first difference from the run. */
class Replay {
  readonly #cassette: Cassette
  readonly #mode: ReplayMode
  readonly #answers: readonly Answer[]
  readonly #cancellation = new AbortController()
  #turns = 0
  #difference: CassetteError | undefined

  constructor(cassette: Cassette, mode: ReplayMode) {
    this.#cassette = cassette
    this.#mode = mode
    // The loop and the executor answer calls that never reached a tool.
    this.#answers = cassette.calls
      .filter(({ iteration, not_run, params }) => iteration > 0 && !not_run && isObject(params))
      .map(({ iteration, tool, params, result }) => ({
        iteration,
        tool,
        params: canonicalText(params),
        result,
        used: false,
      }))
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal
  }

  get turns(): number {
    return this.#turns
  }

  /** The number of recorded calls that the replay didn't make. */
  get unused(): number {
    return this.#answers.filter(({ used }) => !used).length
  }

  /** Starts the next turn and returns its number. Throws if the conversation differs from the recording. */
  begin(messages: readonly Message[]): number {
    if (this.#difference !== undefined) throw this.#difference
    if (this.#mode === 'strict') {
      const difference = firstDifference(conversationAfter(this.#turns, this.#cassette), messages)
      if (difference !== undefined) throw this.fail(difference, this.#turns + 1)
    }
    this.#turns++
    return this.#turns
  }

  resultOf(tool: string, params: Params): ToolResult {
    const text = canonicalText(params)
    const same = this.#answers.filter((answer) => answer.tool === tool && answer.params === text)
    const here = this.#mode === 'strict' ? same.filter(({ iteration }) => iteration === this.#turns) : same
    const answer = here.find(({ used }) => !used) ?? (this.#mode === 'loose' ? here.at(-1) : undefined)
    if (answer === undefined) throw this.fail(this.#noAnswer(tool, text))
    answer.used = true
    return answer.result
  }

  cancel(): void {
    this.#cancellation.abort()
  }

  /** Records the first difference, which the replay fails with. */
  fail(difference: string, turn: number = this.#turns): CassetteError {
    const { run_id } = this.#cassette
    this.#difference ??= new CassetteError(
      `The replay of run '${run_id}' differs from the run: in turn ${turn}, ${difference}`,
    )
    return this.#difference
  }

  check(): void {
    if (this.#difference !== undefined) throw this.#difference
  }

  #noAnswer(tool: string, params: string): string {
    const where =
      this.#mode === 'strict' ? this.#answers.filter(({ iteration }) => iteration === this.#turns) : this.#answers
    const there = where.filter(({ used }) => !used).map((answer) => `${answer.tool} with ${answer.params}`)
    const has = there.length === 0 ? 'no more calls' : there.join(', ')
    return `${tool} is called with ${params}, but the cassette has ${has}`
  }
}

function conversationAfter(turns: number, { request, turns: recorded, calls }: Cassette): Message[] {
  const messages: Message[] = [...request.messages]
  for (const [index, turn] of recorded.slice(0, turns).entries()) {
    const tool_calls = turn.calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: args },
    }))
    messages.push({ role: 'assistant', content: turn.text === '' ? null : turn.text, tool_calls })
    const results = calls.filter(({ iteration }) => iteration === index + 1)
    for (const [place, { tool, result }] of results.entries()) {
      const id = turn.calls[place]?.id ?? ''
      messages.push({ role: 'tool', tool_call_id: id, name: tool, content: JSON.stringify(result) })
    }
  }
  return messages
}

/**
 * Describes the first difference between two conversations; undefined if there is none. Ignores call ids, durations and
 * provider metadata.
 */
function firstDifference(expected: readonly Message[], actual: readonly Message[]): string | undefined {
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    const [was, is] = [shown(expected[index]), shown(actual[index])]
    if (was !== is) return `message ${index + 1} was ${was ?? 'missing'}, but is now ${is ?? 'missing'}`
  }
  return undefined
}

function shown(given: Message | undefined): string | undefined {
  if (given === undefined) return undefined
  const message = textMessage(given)
  if (message.role === 'tool') return `${message.name} giving ${shownResult(message.content)}`
  if (message.role !== 'assistant' || message.tool_calls === undefined) return content(message)
  const calls = message.tool_calls.map(({ function: { name, arguments: args } }) => `${name}(${canonical(args)})`)
  return `${content(message)} with the calls ${calls.join(', ')}`
}

const content = ({ role, content: text }: Message): string => `${role} saying ${JSON.stringify(text || null)}`

function shownResult(content: string): string {
  const value = parsed(content)
  if (typeof value !== 'object' || value === null) return content
  const { execution_time_ms: _, ...result } = value as Record<string, unknown>
  return canonicalText(result)
}

const canonical = (args: string): string => {
  const value = parsed(args)
  return value === undefined ? args : canonicalText(value)
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
