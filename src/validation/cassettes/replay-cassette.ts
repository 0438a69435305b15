import type { RunAnswer } from '../../chat/run.ts'
import { ToolLoop } from '../../chat/tool-loop.ts'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { Message, Model } from '../../models/model.ts'
import type { Cassette } from './cassette.ts'
import { CassetteError } from './cassette-error.ts'
import { readCassette } from './read-cassette.ts'
import { Replay, type ReplayMode } from './replay.ts'
import { replayModel } from './replay-model.ts'
import { replayTools } from './replay-tools.ts'

export interface ReplayOptions {
  /**
   * `strict` (by default): every message and every call is as it was. `loose`: every call is answered by what a call of
   * the same tool with the same parameters was answered, whenever that was.
   */
  readonly mode?: ReplayMode
  /** Answers in the place of the model of the run: shows what another would have done with the same tools. */
  readonly model?: Model
  /** Ends it, where that model is waited for in vain. */
  readonly signal?: AbortSignal
}

/** What came of a replay. */
export interface Replayed {
  readonly answer: RunAnswer
  readonly messages: readonly Message[]
  /** Calls of the run that were not made. */
  readonly unused: number
}

/**
 * Runs a cassette through the real loop and executor, with a model and tools that answer from it: nothing outside is
 * asked. Rejects with a `CassetteError` that names the first difference.
 */
export async function replayCassette(value: Cassette, options: ReplayOptions = {}): Promise<Replayed> {
  const { mode = 'strict', model, signal } = options
  const cassette = readCassette(value)
  if (mode === 'strict' && cassette.incomplete.length > 0) {
    throw new CassetteError(
      `The cassette of run '${cassette.run_id}' is not complete, and can only be replayed loosely: ${cassette.incomplete.join(' ')}`,
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
    // A tool that the run did not have answers so by itself; another model must not be offered it.
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

/** The other model. It is shown the tools as they were: those of the replay take any parameters. */
const watched = (model: Model, { request: { tools } }: Cassette, replay: Replay): Model => ({
  id: model.id,
  stream(request) {
    replay.begin(request.messages)
    const shown = request.tools.map((tool) => tools.find(({ name }) => name === tool.name) ?? tool)
    return model.stream({ ...request, tools: shown })
  },
})

function checkEnd({ turns, answer: was }: Cassette, replay: Replay, is: RunAnswer): void {
  if (replay.turns < turns.length) throw replay.fail(`the run is over, and the cassette has ${turns.length} turns`)
  if (replay.unused > 0) throw replay.fail(`the run is over, and ${replay.unused} calls of the cassette were not made`)
  for (const part of ['stop_reason', 'content', 'final_answer', 'error'] as const) {
    if (was[part] === is[part]) continue
    throw replay.fail(`the ${part} of the answer was ${canonicalText(was[part])}, and is ${canonicalText(is[part])}`)
  }
}
