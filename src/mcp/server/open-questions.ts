import { randomUUID } from 'node:crypto'
import {
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { AskableClient, CallContext } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'

/** How long a client has to answer a question. */
export const ANSWER_MS = 10 * 60_000
const MAX_WAITING = 1_000
const STATE_PREFIX = 'question:'
const QUESTION = 'question'

type Answer = CallToolResult | InputRequiredResult
type Asked = Parameters<AskableClient['ask']>[0]

interface Question {
  readonly request: Asked
  readonly resolve: (response: unknown) => void
  readonly reject: (reason: unknown) => void
}

export const ownerOf = ({ tenant, caller }: CallContext): string => JSON.stringify([tenant, caller])

/** A call of a stateless client. It goes on while the client answers a question in another request. */
export class AskingCall {
  readonly caller: string | undefined
  /** Tenant and caller, and what was called: only the same caller can answer, by the same call. */
  readonly owner: string
  readonly subject: string
  /** The request that waits for the call now. */
  context: ServerContext
  readonly #cancel = new AbortController()
  readonly #questions: Question[] = []
  #asked = Promise.withResolvers<void>()
  #result: Promise<Answer> | undefined

  constructor({ tenant, caller }: CallContext, subject: string, context: ServerContext) {
    this.caller = caller
    this.owner = ownerOf({ tenant, caller })
    this.subject = subject
    this.context = context
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  start(work: () => Promise<Answer>): void {
    this.#result = work()
    // It may fail while its client is asked.
    this.#result.catch(() => {})
  }

  readonly ask = (request: Asked): Promise<unknown> =>
    new Promise((resolve, reject) => {
      this.#questions.push({ request, resolve, reject })
      this.#asked.resolve()
    })

  /** The result, or undefined if the client has to be asked first. */
  async next(): Promise<Answer | undefined> {
    const { signal } = this.context.mcpReq
    const cancel = (): void => this.#cancel.abort()
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    try {
      if (this.#questions.length > 0) return undefined
      this.#asked = Promise.withResolvers()
      return await Promise.race([this.#result, this.#asked.promise.then(() => undefined)])
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  get question(): Asked {
    return (this.#questions[0] as Question).request
  }

  answer(response: unknown): void {
    this.#questions.shift()?.resolve(response)
  }

  end(reason: string): void {
    const error = new ProtocolError(ProtocolErrorCode.InvalidRequest, reason)
    for (const { reject } of this.#questions.splice(0)) reject(error)
    this.#cancel.abort()
  }
}

/** The calls whose clients are asked. They are in memory: another process can't continue them. */
export class OpenQuestions {
  readonly #clock: Clock
  readonly #waiting = new Map<string, { readonly call: AskingCall; readonly cancelEnd: () => void }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits for the result of a call, or for its next question. */
  async next(call: AskingCall): Promise<Answer> {
    const result = await call.next()
    if (result !== undefined) return result
    if (this.#waiting.size >= MAX_WAITING) {
      call.end('Too many clients are asked')
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Too many calls wait for answers: try again later')
    }
    const requestState = STATE_PREFIX + randomUUID()
    const cancelEnd = this.#clock.after(ANSWER_MS, () => {
      this.#waiting.delete(requestState)
      call.end('The client did not answer in time')
    })
    this.#waiting.set(requestState, { call, cancelEnd })
    const inputRequests = { [QUESTION]: call.question as unknown as InputRequest }
    return inputRequired({ inputRequests, requestState })
  }

  /** Continues a call with the answer of its client. Undefined if the state is not that of a question. */
  resume(state: unknown, caller: CallContext, subject: string, context: ServerContext): Promise<Answer> | undefined {
    if (typeof state !== 'string' || !state.startsWith(STATE_PREFIX)) return undefined
    const waiting = this.#waiting.get(state)
    if (waiting?.call.owner !== ownerOf(caller) || waiting.call.subject !== subject) {
      const message =
        'Nobody waits for this answer: the question has expired, or it belongs to another call. Call again'
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    const { call, cancelEnd } = waiting
    this.#waiting.delete(state)
    cancelEnd()
    call.context = context
    const response = context.mcpReq.inputResponses?.[QUESTION]
    if (response !== undefined) call.answer(response)
    return this.next(call)
  }

  /** Cancels the calls of these callers. */
  endCallers(ids: ReadonlySet<string>): void {
    this.#end('The API key was revoked or has expired', ({ caller }) => caller !== undefined && ids.has(caller))
  }

  close(): void {
    this.#end('The server is closing', () => true)
  }

  #end(reason: string, isEnded: (call: AskingCall) => boolean): void {
    for (const [state, { call, cancelEnd }] of [...this.#waiting]) {
      if (!isEnded(call)) continue
      this.#waiting.delete(state)
      cancelEnd()
      call.end(reason)
    }
  }
}
