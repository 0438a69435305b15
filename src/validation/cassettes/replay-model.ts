import type { FinishReason, Model, ModelEvent } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import type { Cassette } from './cassette.ts'
import type { Replay } from './replay.ts'

/** A model that answers as the model of a cassette did, once for each turn of it. */
export function replayModel(cassette: Cassette, replay: Replay): Model {
  const { turns, answer } = cassette
  return {
    id: cassette.model,
    async *stream({ messages, signal }): AsyncGenerator<ModelEvent> {
      const turn = turns[replay.begin(messages) - 1]
      if (turn === undefined) {
        if (answer.stop_reason !== 'cancelled') throw replay.fail('the model is asked once more than in the run')
        replay.cancel()
        signal?.throwIfAborted()
        return
      }
      if (turn.text !== '') yield { type: 'text-delta', text: turn.text }
      for (const { id, name, arguments: written, recovered } of turn.calls) {
        const call = { id, type: 'function', function: { name, arguments: written } } as const
        yield { type: 'tool-call-start', id, name }
        yield { type: 'tool-call-delta', id, text: written }
        yield { type: 'tool-call-end', call: recovered ? { ...call, metadata: { recovered } } : call }
      }
      if (turn.error !== undefined) throw new ModelError(turn.error)
      if (turn.finish_reason === 'cancelled') {
        replay.cancel()
        signal?.throwIfAborted()
        return
      }
      // What it failed with was not for others to read, and is not here either.
      if (turn === turns.at(-1) && answer.error !== undefined) throw new Error('The model failed')
      const { finish_reason, usage } = turn
      yield { type: 'finish', reason: finish_reason as FinishReason, ...(usage !== undefined && { usage }) }
    },
  }
}
