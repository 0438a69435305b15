import type { RunAnswer, RunEvent } from '../../chat/run.ts'
import type { ToolCall } from '../../models/model.ts'
import type { EventStream } from '../event-stream.ts'
import { aboutCall, aboutRun, type CompletionHead, contentOf, finishReason, usageOf } from './completion.ts'
import type { AskedCompletion } from './completion-request.ts'
import { newCallId } from './handed-back.ts'

interface HandedCall {
  readonly index: number
  readonly id: string
  /** How much of the arguments has been sent. */
  sent: number
}

/** Writes a run as chunks of OpenAI's, as it happens. */
export class CompletionStream {
  readonly #stream: EventStream
  readonly #head: CompletionHead
  readonly #includeUsage: boolean
  readonly #clientTools: ReadonlySet<string>
  /** The client's calls, by the ids of the model. */
  readonly #calls = new Map<string, HandedCall>()
  #begun = false
  /** What was said in this turn. */
  #said = ''
  /** Something was said in a turn before. */
  #spoke = false

  constructor(stream: EventStream, head: CompletionHead, { includeUsage, run }: AskedCompletion) {
    this.#stream = stream
    this.#head = head
    this.#includeUsage = includeUsage
    this.#clientTools = new Set(run.client_tools?.map(({ name }) => name))
  }

  /** The ids that the client's calls went out under, and those of the model. */
  get ids(): Map<string, string> {
    return new Map(Array.from(this.#calls, ([modelId, { id }]) => [id, modelId]))
  }

  async write(event: RunEvent): Promise<void> {
    if (!this.#begun) {
      this.#begun = true
      await this.#send({ role: 'assistant', content: '' })
    }
    switch (event.type) {
      case 'gate':
        return this.#tell({ type: 'gate', decisions: event.decisions })
      case 'text-delta':
        return this.#say(event.text)
      case 'tool-call-start':
        return this.#startCall(event.id, event.name)
      case 'tool-call-delta':
        return this.#goOn(event.id, event.text)
      case 'tool-call-end':
        return this.#endCall(event.call)
      case 'call-progress':
        return this.#tell({ type: 'call-progress', id: event.id, tool: event.tool, progress: event.progress })
      case 'call-result':
        this.#spoke ||= this.#said !== ''
        this.#said = ''
        return this.#tell({ type: 'call-result', id: event.id, ...aboutCall(event.call) })
      case 'answer':
        return this.#finish(event.answer)
    }
  }

  async #say(text: string): Promise<void> {
    if (text === '') return
    // What was said between calls and what is said now are not one sentence.
    const apart = this.#said === '' && this.#spoke ? '\n\n' : ''
    this.#said += text
    await this.#send({ content: `${apart}${text}` })
  }

  async #startCall(modelId: string, name: string): Promise<void> {
    if (!this.#clientTools.has(name) || this.#calls.has(modelId)) return
    const call = { index: this.#calls.size, id: newCallId(), sent: 0 }
    this.#calls.set(modelId, call)
    const { index, id } = call
    await this.#send({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
  }

  async #goOn(modelId: string, text: string): Promise<void> {
    const call = this.#calls.get(modelId)
    if (call === undefined || text === '') return
    call.sent += text.length
    await this.#send({ tool_calls: [{ index: call.index, function: { arguments: text } }] })
  }

  /** Sends what has not been sent: a model need not have told of a call before it was whole. */
  async #endCall({ id, function: { name, arguments: text } }: ToolCall): Promise<void> {
    await this.#startCall(id, name)
    await this.#goOn(id, text.slice(this.#calls.get(id)?.sent))
  }

  async #finish(answer: RunAnswer): Promise<void> {
    const finish_reason = finishReason(answer)
    const content = contentOf(answer)
    if (content.startsWith(this.#said)) await this.#say(content.slice(this.#said.length))
    else {
      this.#spoke = true
      this.#said = ''
      await this.#say(content)
    }
    const choice = { index: 0, delta: {}, logprobs: null, finish_reason }
    await this.#chunk({ choices: [choice], toolyard: aboutRun(answer) })
    if (this.#includeUsage && answer.usage !== undefined) {
      await this.#chunk({ choices: [], usage: usageOf(answer.usage) })
    }
    await this.#stream.sendText('[DONE]')
  }

  /** What happens on the server, beside an empty choice: clients that do not look for it do not see it. */
  #tell(toolyard: object): Promise<void> {
    return this.#chunk({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null }], toolyard })
  }

  #send(delta: object): Promise<void> {
    return this.#chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] })
  }

  #chunk(rest: object): Promise<void> {
    const usage = this.#includeUsage ? { usage: null } : {}
    return this.#stream.sendText(JSON.stringify({ object: 'chat.completion.chunk', ...this.#head, ...usage, ...rest }))
  }
}
