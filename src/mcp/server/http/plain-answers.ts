import type { ServerResponse } from 'node:http'
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server'
import { Cancellation } from '../../../core/cancellation.ts'
import { writeLog } from '../../../core/log.ts'
import type { Caller } from '../caller.ts'
import type { ToolServer } from '../tool-server.ts'
import type { PlainRequest } from './plain-request.ts'
import { Reply } from './reply.ts'
import type { Session } from './session.ts'

/** Answers a plain request by itself: no conversion into the Web's types, no second check of what was checked. */
export class PlainAnswers {
  readonly #server: ToolServer
  readonly #running = new Set<Cancellation>()
  readonly #resultTail: string
  readonly #listTail: string

  constructor(server: ToolServer) {
    this.#server = server
    // What the stateless era wants to read in every result.
    const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: server.info })
    this.#resultTail = `"resultType":"complete","_meta":${meta}}`
    this.#listTail = `"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":${meta}}`
  }

  async answer(request: PlainRequest, response: ServerResponse, caller: Caller, session?: Session): Promise<void> {
    const reply = new Reply(response, request.id, session?.id)
    try {
      if (request.method === 'tools/list') {
        const { json } = this.#server.pages.page(caller.context, request.params.cursor as string | undefined)
        reply.result(request.stateless ? `{${json},${this.#listTail}` : `{${json}}`)
      } else {
        await this.#call(request, response, reply, caller, session)
      }
    } catch (error) {
      if (error instanceof ProtocolError) return reply.error(error.code, error.message, error.data)
      writeLog(this.#server.log, 'error', { err: error }, 'A request to the MCP server could not be answered')
      reply.error(ProtocolErrorCode.InternalError, 'Internal error', undefined)
    }
  }

  /** Cancels everything that is running. */
  close(): void {
    for (const cancellation of this.#running) cancellation.abort(undefined)
  }

  async #call(
    request: PlainRequest,
    response: ServerResponse,
    reply: Reply,
    caller: Caller,
    session: Session | undefined,
  ): Promise<void> {
    const cancellation = new Cancellation()
    this.#running.add(cancellation)
    // A session outlives its connections, and cancels by a message; without one, to hang up is to cancel.
    if (session === undefined) response.once('close', () => cancellation.abort(undefined))
    else session.calls.set(request.id, cancellation)
    try {
      const result = await this.#server.call({
        name: request.params.name as string,
        args: request.params.arguments,
        caller,
        signal: cancellation,
        progressToken: request.progressToken,
        logLevel: request.logLevel ?? caller.logLevel,
        meta: request.params._meta,
        notify: (notice) => reply.notify(notice),
      })
      if (cancellation.aborted) reply.drop()
      else reply.result(request.stateless ? this.#stateless(result) : JSON.stringify(result))
    } finally {
      this.#running.delete(cancellation)
      if (session?.calls.get(request.id) === cancellation) session.calls.delete(request.id)
    }
  }

  #stateless(result: CallToolResult): string {
    if (result._meta === undefined) return `${JSON.stringify(result).slice(0, -1)},${this.#resultTail}`
    const _meta = { [SERVER_INFO_META_KEY]: this.#server.info, ...result._meta }
    return JSON.stringify({ ...result, resultType: 'complete', _meta })
  }
}
