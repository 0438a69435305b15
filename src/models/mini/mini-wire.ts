import { answerEvents } from '../answer-events.ts'
import { ModelError } from '../model-error.ts'
import type { ProviderSettings, ProviderSurroundings, Wire } from '../provider.ts'
import { findPackages } from './engine/find-packages.ts'
import { inWindows } from './engine/in-windows.ts'
import { ProcessScorer } from './engine/process-scorer.ts'
import { readScores } from './read-scores.ts'

const MODEL = 'v0'

/** A wire that holds a process until it is closed. */
export interface MiniWire extends Wire {
  /** The process that holds the model, where there is one now. */
  readonly pid: number | undefined
  close(): Promise<void>
}

/** `mini:v0`, the model that comes with Toolyard: understands requests, calls tools, and writes no text of its own. */
export function miniWire(
  { name }: ProviderSettings,
  { log, clock }: ProviderSurroundings,
  find: typeof findPackages = findPackages,
): MiniWire {
  const id = `${name}:${MODEL}`
  const scorer = new ProcessScorer({ packages: find(name), name: id, log })
  return {
    dialect: 'plain',
    get pid() {
      return scorer.pid
    },
    async *stream(model, request) {
      request.signal?.throwIfAborted()
      if (model !== MODEL) throw new ModelError(`The provider ${name} has no model '${model}': its only one is ${id}.`)
      // Dates, units and the rest are loaded with the first question.
      const { answerTo } = await import('./talk/answer.ts')
      const { messages, tools, signal } = request
      const now = new Date(clock.wall())
      yield* answerEvents(
        request,
        await answerTo(messages, { id, tools, scorer: inWindows(scorer), now, ...(signal && { signal }) }),
      )
    },
    list: async () => [{ name: MODEL, capabilities: ['function-calling'] }],
    scores: async (model) => (model === MODEL ? readScores() : undefined),
    close: () => scorer.close(),
  }
}
