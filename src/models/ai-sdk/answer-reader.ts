import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { ModelEvent, ToolCall } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { type KeptPart, keepParts, type PartOptions } from './kept-part.ts'
import { readFinish, type StreamPart } from './read-finish.ts'

type FinishPart = Extract<StreamPart, { type: 'finish' }>
type CallPart = Extract<StreamPart, { type: 'tool-call' }>
type Block = { type: 'reasoning'; text: string; options?: PartOptions } | OpenText
type OpenText = { type: 'text'; length: number; options?: PartOptions }

/** Turns the parts of one stream of the AI SDK into our events. */
export class AnswerReader {
  readonly #kept: KeptPart[] = []
  /** The blocks of text and reasoning that are being written, by id. */
  readonly #open = new Map<string, Block>()
  /** The calls that have started, and whether any of their arguments came. */
  readonly #started = new Map<string, boolean>()
  /** Calls of which only the finish says whether they were complete, and those behind them. */
  readonly #held: { call: ToolCall; certain: boolean }[] = []
  #calls = 0
  #finish: FinishPart | undefined;

  /** The events of one part. An error in the stream is the caller's to throw. */
  *read(part: StreamPart): Generator<ModelEvent> {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#block(part, true)
        break
      case 'text-delta':
      case 'reasoning-delta': {
        const block = this.#block(part)
        if (block.type === 'reasoning') block.text += part.delta
        else {
          block.length += part.delta.length
          if (part.delta !== '') yield { type: 'text-delta', text: part.delta }
        }
        break
      }
      case 'text-end':
      case 'reasoning-end':
        this.#block(part)
        this.#open.delete(part.id)
        break
      case 'tool-input-start':
        if (part.providerExecuted) break
        this.#started.set(part.id, false)
        yield { type: 'tool-call-start', id: part.id, name: part.toolName }
        break
      case 'tool-input-delta':
        if (part.delta === '' || !this.#started.has(part.id)) break
        this.#started.set(part.id, true)
        yield { type: 'tool-call-delta', id: part.id, text: part.delta }
        break
      case 'tool-call':
        if (!part.providerExecuted) yield* this.#readCall(part)
        break
      case 'finish':
        // Some streams hold several, of which the last is right.
        this.#finish = part
    }
  }

  /** What is left to say when the stream has ended. */
  *end(): Generator<ModelEvent> {
    const finish = this.#finish && readFinish(this.#finish)
    if (finish === undefined || finish.brokenOff) {
      throw new ModelError('The answer broke off before it was finished. Try again.', { retryable: true })
    }
    // The last call is the one in which the tokens ran out.
    if (finish.reason === 'length' && this.#held.at(-1)?.certain === false) this.#held.pop()
    for (const { call } of this.#held) yield this.#endCall(call)
    const metadata = keepParts(this.#kept)
    yield {
      type: 'finish',
      reason: this.#calls > 0 ? 'tool_calls' : finish.reason,
      ...(finish.usage && { usage: finish.usage }),
      ...(metadata && { metadata }),
    }
  }

  *#readCall(part: CallPart): Generator<ModelEvent> {
    const { toolCallId: id, toolName: name, providerMetadata: metadata } = part
    const text = part.input.trim() === '' ? '{}' : part.input
    const streamed = this.#started.get(id)
    if (streamed === undefined) {
      yield { type: 'tool-call-start', id, name }
      yield { type: 'tool-call-delta', id, text }
    }
    this.#kept.push({ type: 'call', id })
    const call: ToolCall = { id, type: 'function', function: { name, arguments: text }, ...(metadata && { metadata }) }
    // Arguments of which nothing came may be none, or the tokens may have run out before them.
    const certain = streamed !== false && isJson(text)
    if (certain && this.#held.length === 0) yield this.#endCall(call)
    else this.#held.push({ call, certain })
  }

  #endCall(call: ToolCall): ModelEvent {
    this.#calls++
    return { type: 'tool-call-end', call }
  }

  #block(part: { type: string; id: string; providerMetadata?: PartOptions }, fresh = false): Block {
    let block = this.#open.get(part.id)
    if (fresh || block === undefined) {
      block = part.type.startsWith('text') ? { type: 'text', length: 0 } : { type: 'reasoning', text: '' }
      this.#open.set(part.id, block)
      this.#kept.push(block)
    }
    // The later says more: a signature comes with the end.
    if (part.providerMetadata !== undefined) block.options = part.providerMetadata
    return block
  }
}

function isJson(text: string): boolean {
  try {
    parseJson(text, LIMITS.bodyDepth)
    return true
  } catch {
    return false
  }
}
