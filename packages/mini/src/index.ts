import type { Message, MiniHost, OfferedTool } from './base/port.ts'
import { findPackages } from './engine/find-packages.ts'
import { ProcessReader } from './engine/process-reader.ts'
import { inWindows } from './engine/tool-reader.ts'
import type { Answer } from './talk/answer.ts'

export { MiniError, type MiniHost, type Worker, type WorkerOptions } from './base/port.ts'
export { findPackages } from './engine/find-packages.ts'
export { loadWordVectors, type WordVectors } from './engine/word-vectors.ts'

/** The name of the model without its provider. */
export const MODEL = 'v1'

/** The measured scores that come with the weights. */
export const SCORES = new URL('../scores.json', import.meta.url)

export interface MiniRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly OfferedTool[]
  /** Tenants take turns. */
  readonly tenant?: string
  readonly signal?: AbortSignal
}

export interface Mini {
  /** The process that holds the model, if there is one. */
  readonly pid: number | undefined
  /** Answers with a text or with calls; throws a `MiniError`, or the reason of the signal. */
  answer(request: MiniRequest): Promise<Answer>
  /** Vectors of the first texts, up to 2,000 tokens; they are near each other if the texts mean the same. Throws like `answer`. */
  embed(texts: readonly string[], signal?: AbortSignal, tenant?: string): Promise<number[][]>
  close(): Promise<void>
}

/** Opens the model; its process starts with the first question. */
export function createMini(host: MiniHost, find: typeof findPackages = findPackages): Mini {
  const { id, check, search } = host
  const reader = new ProcessReader({ packages: find(host.provider), host })
  return {
    get pid() {
      return reader.pid
    },
    async answer({ messages, tools, tenant, signal }) {
      // Dates, units and the rest are loaded with the first question.
      const { answerTo } = await import('./talk/answer.ts')
      const now = host.now()
      return reader.ask(tenant, (own) =>
        answerTo(messages, { id, tools, reader: inWindows(own), now, check, search, ...(signal && { signal }) }),
      )
    },
    embed: (texts, signal, tenant) => reader.ask(tenant, (own) => own.embed(texts, signal)),
    close: () => reader.close(),
  }
}
