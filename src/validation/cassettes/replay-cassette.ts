import type { RunAnswer } from '../../chat/run.ts'
import { ToolLoop } from '../../chat/tool-loop.ts'
import type { Kind } from '../../core/kind.ts'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { ToolExecutor } from '../../core/tool-executor.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import type { ToolFailure } from '../../core/tool-result.ts'
import type { FinishReason, Message, Model, ModelEvent } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import { type Cassette, CassetteError, readCassette } from './cassette.ts'
import { Replay, type ReplayMode } from './replay.ts'

export interface ReplayOptions {
  /**
   * `strict` (default): every message and call must equal the recorded one. `loose`: a call gets the recorded result of
   * any call of the same tool with the same parameters.
   */
  readonly mode?: ReplayMode
  /** Answers instead of the recorded model, with the same tools. */
  readonly model?: Model
  /** Cancels the replay. */
  readonly signal?: AbortSignal
}

export interface Replayed {
  readonly answer: RunAnswer
  readonly messages: readonly Message[]
  /** The number of recorded calls that weren't made. */
  readonly unused: number
}

/**
 * Runs a cassette through the real loop and executor, with a model and tools that answer from the recording. Rejects
 * with a `CassetteError` that names the first difference.
 */
export async function replayCassette(value: Cassette, options: ReplayOptions = {}): Promise<Replayed> {
  const { mode = 'strict', model, signal } = options
  const cassette = readCassette(value)
  if (mode === 'strict' && cassette.incomplete.length > 0) {
    throw new CassetteError(
      `The cassette of run '${cassette.run_id}' is incomplete and can only be replayed in loose mode: ${cassette.incomplete.join(' ')}`,
    )
  }
  const replay = new Replay(cassette, mode)
  const { registry, executor } = replayTools(cassette, replay)
  const { messages, offered, tools: _, budget, ...request } = cassette.request
  // No time passes in a replay.
  const { wall_time_ms: __, ...spent } = budget ?? {}
  const run = new ToolLoop(registry, executor).run({
    ...request,
    messages,
    model: model === undefined ? replayModel(cassette, replay) : watched(model, cassette, replay),
    service: cassette.service,
    // Unknown tools of the run are registered too; don't offer them to another model.
    ...(model !== undefined && { allowed_tools: offered }),
    prior_calls: cassette.calls.filter(({ iteration }) => iteration === 0),
    budget: spent,
    context: { signal: signal === undefined ? replay.signal : AbortSignal.any([replay.signal, signal]) },
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

/** A model that repeats the recorded turns. */
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
