import { readArguments } from '../../chat/call-batch.ts'
import type { PendingApproval, RunAnswer, RunEvent, StopReason, TrackedCall } from '../../chat/run.ts'
import { splitMedia } from '../../core/tool-result.ts'
import type { Message, ToolCall } from '../../models/model.ts'
import type { RunWriter } from '../chat/client-run.ts'
import type { EventStream } from '../http/event-stream.ts'

/** The chunks of the AI SDK's UI message stream that this server sends. */
type UiMessageChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: MessageMetadata }
  | { readonly type: 'start-step' | 'finish-step' }
  | { readonly type: 'text-start' | 'text-end'; readonly id: string }
  | { readonly type: 'text-delta'; readonly id: string; readonly delta: string }
  | ToolChunk
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string }
  | { readonly type: 'data-toolyard-progress'; readonly data: ToolProgress; readonly transient: true }
  | { readonly type: 'data-toolyard-approval'; readonly id: string; readonly data: WaitingCall }
  | { readonly type: 'finish'; readonly finishReason: FinishReason; readonly messageMetadata: MessageMetadata }
  | { readonly type: 'abort'; readonly reason: string }
  | { readonly type: 'error'; readonly errorText: string }

/** Dynamic: the client doesn't know the tools. */
type ToolChunk = { readonly toolCallId: string } & (
  | { readonly type: 'tool-input-start'; readonly toolName: string; readonly dynamic: true }
  | { readonly type: 'tool-input-delta'; readonly inputTextDelta: string }
  | {
      readonly type: 'tool-input-available'
      readonly toolName: string
      readonly input: unknown
      readonly dynamic: true
    }
  | { readonly type: 'tool-output-available'; readonly output: unknown; readonly dynamic: true }
  | { readonly type: 'tool-output-error'; readonly errorText: string; readonly dynamic: true }
  | { readonly type: 'tool-output-denied' }
  | { readonly type: 'tool-approval-request'; readonly approvalId: string }
)

interface ToolProgress {
  readonly toolCallId: string
  readonly toolName: string
  readonly progress: unknown
}

/** A call that waits for approval. It stays in the message: a person decides in the inbox. */
interface WaitingCall extends PendingApproval {
  /** The page of the approval, on this server. */
  readonly url: string
}

/** The `metadata` of the assistant message. */
type MessageMetadata = { readonly run_id: string } & Partial<
  Pick<RunAnswer, 'service' | 'model' | 'stop_reason' | 'usage' | 'cost' | 'gate'>
>

type FinishReason = 'stop' | 'length' | 'content-filter' | 'error' | 'other'

const FINISH: Partial<Readonly<Record<StopReason, FinishReason>>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  error: 'error',
}

interface UiMessageStreamOptions {
  readonly runId: string
  /** Stores the conversation before the client learns that the run has ended. */
  readonly store: (messages: readonly Message[]) => Promise<void>
  /** Describes an error to the client. */
  readonly describe: (error: unknown) => string
  /** Whether the client may approve calls of this tool itself. */
  readonly mayDecide: (tool: string) => boolean
}

/** What the client has of a call: it waits for a decision that was made, or has ended. */
export type ClientCall = 'approved' | 'rejected' | 'ended'

/** Streams a run as an AI SDK UI message. */
export class UiMessageStream implements RunWriter {
  readonly #stream: EventStream
  readonly #options: UiMessageStreamOptions
  /** The ids of the calls of this step. The ids of models may not be unique, so clients get ids of ours. */
  readonly #calls = new Map<string, string>()
  #begun = false
  #step: 'none' | 'model' | 'results' = 'none'
  #made = 0
  #texts = 0
  /** The text of this step. */
  #said = ''
  #speaking = false

  constructor(stream: EventStream, options: UiMessageStreamOptions) {
    this.#stream = stream
    this.#options = options
    stream.farewell = (_event, { error }) => this.#error(error)
  }

  async write(event: RunEvent): Promise<void> {
    await this.#begin()
    switch (event.type) {
      case 'text-delta':
        return this.#say(event.text)
      case 'tool-call-start':
        await this.#startCall(event.id, event.name)
        return
      case 'tool-call-delta':
        return this.#goOn(event.id, event.text)
      case 'tool-call-end':
        return this.#endCall(event.call)
      case 'call-progress':
        return this.#report(event.id, event.tool, event.progress)
      case 'call-result':
        return this.#result(event.id, event.call)
      case 'answer':
        return this.#finish(event.answer, event.messages)
    }
  }

  /** Continues the message of a run that waited: the calls that the client doesn't have yet, and the answer. */
  async resume(answer: RunAnswer, known: ReadonlyMap<string, ClientCall>): Promise<void> {
    await this.#begin()
    const calls = answer.tool_calls.map((call, index) => ({ ...call, id: String(index), at: this.#callId(index) }))
    for (const turn of Map.groupBy(calls, ({ iteration }) => iteration).values()) {
      for (const { id, at, tool, params } of turn) {
        const isNew = !known.has(at)
        this.#made = Number(id)
        if (isNew) await this.#endCall({ id, type: 'function', function: { name: tool, arguments: textOf(params) } })
        else this.#calls.set(id, at)
      }
      for (const call of turn) {
        const state = known.get(call.at)
        if (state === 'ended' || isWaiting(call)) continue
        if (state === 'rejected') await this.#send({ type: 'tool-output-denied', toolCallId: call.at })
        else await this.#result(call.id, call)
      }
    }
    return this.#finish(answer)
  }

  fail(error: unknown): Promise<void> {
    return this.#error(this.#options.describe(error))
  }

  async #begin(): Promise<void> {
    if (this.#begun) return
    this.#begun = true
    const { runId } = this.#options
    await this.#send({ type: 'start', messageId: runId, messageMetadata: { run_id: runId } })
  }

  /** The client's id of a call of the run. */
  #callId(index: number): string {
    return `${this.#options.runId}-${index + 1}`
  }

  /** The turn of a model and the results of its calls are one step. */
  async #turn(): Promise<void> {
    if (this.#step === 'model') return
    if (this.#step === 'results') await this.#endStep()
    this.#step = 'model'
    await this.#send({ type: 'start-step' })
  }

  async #endStep(): Promise<void> {
    await this.#silence()
    this.#calls.clear()
    this.#said = ''
    if (this.#step !== 'none') await this.#send({ type: 'finish-step' })
    this.#step = 'none'
  }

  async #say(delta: string): Promise<void> {
    if (delta === '') return
    await this.#turn()
    if (!this.#speaking) {
      this.#speaking = true
      await this.#send({ type: 'text-start', id: `text-${++this.#texts}` })
    }
    this.#said += delta
    await this.#send({ type: 'text-delta', id: `text-${this.#texts}`, delta })
  }

  async #silence(): Promise<void> {
    if (!this.#speaking) return
    this.#speaking = false
    await this.#send({ type: 'text-end', id: `text-${this.#texts}` })
  }

  async #startCall(modelId: string, toolName: string): Promise<string> {
    await this.#turn()
    await this.#silence()
    const known = this.#calls.get(modelId)
    if (known !== undefined) return known
    const toolCallId = this.#callId(this.#made++)
    this.#calls.set(modelId, toolCallId)
    await this.#send({ type: 'tool-input-start', toolCallId, toolName, dynamic: true })
    return toolCallId
  }

  async #goOn(modelId: string, inputTextDelta: string): Promise<void> {
    const toolCallId = this.#calls.get(modelId)
    if (toolCallId === undefined || inputTextDelta === '') return
    await this.#send({ type: 'tool-input-delta', toolCallId, inputTextDelta })
  }

  async #endCall({ id, function: { name: toolName, arguments: text } }: ToolCall): Promise<void> {
    const toolCallId = await this.#startCall(id, toolName)
    const input = readArguments(text)
    await this.#send({ type: 'tool-input-available', toolCallId, toolName, input, dynamic: true })
  }

  async #report(modelId: string, toolName: string, progress: unknown): Promise<void> {
    const toolCallId = this.#calls.get(modelId)
    if (toolCallId === undefined) return
    await this.#send({ type: 'data-toolyard-progress', data: { toolCallId, toolName, progress }, transient: true })
  }

  async #result(modelId: string, { result }: TrackedCall): Promise<void> {
    const toolCallId = this.#calls.get(modelId)
    if (toolCallId === undefined) return
    this.#step = 'results'
    if (!result.success) {
      return this.#send({ type: 'tool-output-error', toolCallId, errorText: result.error, dynamic: true })
    }
    const { value: output, media } = splitMedia(result.result)
    await this.#send({ type: 'tool-output-available', toolCallId, output, dynamic: true })
    for (const { media_type, data } of media) {
      // A page would load an address; it is in the text instead.
      if (data === undefined) continue
      await this.#send({ type: 'file', mediaType: media_type, url: `data:${media_type};base64,${data}` })
    }
  }

  async #finish(answer: RunAnswer, messages?: readonly Message[]): Promise<void> {
    const { stop_reason, error, error_status, final_answer, content, service, model, usage, cost, gate } = answer
    // A question that failed before any call can be asked again as if it was the first time.
    const isStored = messages !== undefined && (error_status === undefined || answer.tool_calls.length > 0)
    if (isStored) await this.#options.store(messages)
    if (error_status !== undefined) return this.#error(error ?? content)
    if (stop_reason === 'cancelled') {
      await this.#endStep()
      await this.#send({ type: 'abort', reason: content })
      return this.#done()
    }
    let asks = false
    for (const approval of answer.approvals ?? []) {
      const { id: approvalId, tool } = approval
      const index = answer.tool_calls.findIndex((call) => isWaiting(call, approvalId))
      if (this.#options.mayDecide(tool) && index !== -1) {
        asks = true
        await this.#send({ type: 'tool-approval-request', approvalId, toolCallId: this.#callId(index) })
      } else {
        const data = { ...approval, url: `/approvals/${approvalId}` }
        await this.#send({ type: 'data-toolyard-approval', id: approvalId, data })
      }
    }
    // A client sends decisions by itself only if the calls are in the last step.
    if (!asks) await this.#sayRest(final_answer ?? content)
    await this.#endStep()
    const known = { service, model, stop_reason, ...(usage && { usage }), ...(cost !== undefined && { cost }) }
    const messageMetadata = { run_id: this.#options.runId, ...known, ...(gate && { gate }) }
    await this.#send({ type: 'finish', finishReason: FINISH[stop_reason] ?? 'other', messageMetadata })
    return this.#done()
  }

  /** Says the part of the answer that the model didn't stream. */
  async #sayRest(content: string): Promise<void> {
    if (this.#step === 'model' && content.startsWith(this.#said)) return this.#say(content.slice(this.#said.length))
    await this.#silence()
    return this.#say(content)
  }

  async #error(errorText: string): Promise<void> {
    await this.#send({ type: 'error', errorText })
    return this.#done()
  }

  #done(): Promise<void> {
    return this.#stream.sendText('[DONE]')
  }

  #send(chunk: UiMessageChunk): Promise<void> {
    return this.#stream.sendText(JSON.stringify(chunk))
  }
}

/** Whether the call waits for approval, or for this one. */
function isWaiting({ result }: TrackedCall, approvalId?: string): boolean {
  if (result.success || result.error_code !== 'APPROVAL_REQUIRED') return false
  return approvalId === undefined || result.details?.approval?.id === approvalId
}

/** Arguments that aren't JSON are the text of the model. */
const textOf = (params: unknown): string => (typeof params === 'string' ? params : JSON.stringify(params))
