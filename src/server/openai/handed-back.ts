import { randomBytes } from 'node:crypto'
import type { Caller } from '../../app/callers/callers.ts'
import type { Clock } from '../../core/clock.ts'
import type { AssistantMessage, Message, ToolCall } from '../../models/model.ts'
import { TenantCache } from '../http/tenant-cache.ts'
import { invalid } from './openai-error.ts'

export type Result = Extract<Message, { role: 'tool' }>

/** The part of a conversation that the client doesn't have. */
interface HandedBack {
  /** The turns that called server tools. */
  readonly before: readonly Message[]
  /** The turn that called client tools, as the model wrote it. */
  readonly turn: AssistantMessage
  /** The results of the server tools that this turn called. */
  readonly postponed: readonly Result[]
  /** The ids of the client's calls: ours, mapped to the model's. */
  readonly ids: ReadonlyMap<string, string>
}

/**
 * Stores the turns that clients don't get, so that the model doesn't repeat them when the client returns its results.
 * The ids of models may not be unique, so clients get ids of ours.
 */
export class HandedBackCalls {
  readonly #entries: TenantCache<HandedBack>

  constructor(clock: Clock) {
    const sizeOf = ({ before, turn, postponed }: HandedBack) => JSON.stringify([before, turn, postponed]).length
    this.#entries = new TenantCache(clock, sizeOf)
  }

  /** Stores the messages that a run added; `ids` are the ids that the client got. */
  keep(caller: Caller, added: readonly Message[], ids: ReadonlyMap<string, string>): void {
    const entry = handedBack(added, ids)
    for (const id of ids.keys()) this.#entries.set(caller.tenant, keyOf(caller, id), entry)
  }

  /** Adds the stored turns to the conversation of a client. */
  restore(caller: Caller, messages: readonly Message[]): Message[] {
    const restored: Message[] = []
    const used = new Set<HandedBack>()
    for (let at = 0; at < messages.length; at++) {
      const message = messages[at] as Message
      const known = message.role === 'assistant' ? this.#find(caller, message.tool_calls ?? []) : undefined
      if (known === undefined) restored.push(message)
      else if (used.has(known)) {
        // Each copy would be as long as the stored turns.
        throw invalid('messages', `messages[${at}] repeats tool calls of an earlier message`)
      } else {
        used.add(known)
        const results = messages.slice(at + 1, at + 1 + known.ids.size) as Result[]
        restored.push(...known.before, known.turn, ...resultsOf(known, results))
        at += known.ids.size
      }
    }
    return restored
  }

  /** The entry of calls that were handed back together. */
  #find(caller: Caller, calls: readonly ToolCall[]): HandedBack | undefined {
    const [first] = calls
    const entry = first && this.#entries.get(caller.tenant, keyOf(caller, first.id))
    return entry?.ids.size === calls.length && calls.every(({ id }) => entry.ids.has(id)) ? entry : undefined
  }
}

/** Splits a conversation that ends with calls of the client. */
export function handedBack(messages: readonly Message[], ids: ReadonlyMap<string, string>): HandedBack {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const turn = messages[at] as AssistantMessage
  return { before: messages.slice(0, at), turn, postponed: messages.slice(at + 1) as Result[], ids }
}

export const newCallId = (): string => `call_${randomBytes(12).toString('hex')}`

/** The results of a turn, in the order of its calls and with the ids of the model. */
export function resultsOf({ turn, postponed, ids }: HandedBack, given: readonly Result[]): Result[] {
  const results = new Map(postponed.map((result) => [result.tool_call_id, result]))
  for (const result of given) {
    const id = ids.get(result.tool_call_id) as string
    results.set(id, { ...result, tool_call_id: id })
  }
  return (turn.tool_calls ?? []).map(({ id }) => results.get(id) as Result)
}

const keyOf = ({ id: caller }: Caller, id: string): string => JSON.stringify([caller, id])
