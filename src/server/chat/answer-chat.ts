import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ChatRequest } from '../../chat/chat.ts'
import { NoResponseRuleError } from '../../chat/rules/no-response-rule-error.ts'
import type { RunEvent } from '../../chat/run.ts'
import { ToolRefusedError } from '../../chat/tool-refused-error.ts'
import { writeLog } from '../../core/log.ts'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { acceptsEvents } from '../streams.ts'
import { begun } from './begun.ts'
import { ClientRun } from './client-run.ts'

/** Answers a question over HTTP: with the whole answer, or with everything that happens on the way to it. */
export async function answerChat(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Omit<ChatRequest, 'context'>,
  session?: string,
): Promise<unknown> {
  const run = new ClientRun(service, request, reply, session)
  try {
    const chat = await service.installation.manager.getChat()
    const question = { ...asked, context: run.context }
    if (acceptsEvents(request)) return await tell(service, reply, chat.run(question), run.id)
    return { ...(await chat.answer(question)), run_id: run.id }
  } catch (error) {
    if (error instanceof ToolRefusedError) return refuse(reply, error, run)
    throw problemOf(error)
  } finally {
    run.done()
  }
}

async function tell(
  { streams, installation }: Service,
  reply: FastifyReply,
  events: AsyncGenerator<RunEvent, void, undefined>,
  runId: string,
): Promise<FastifyReply> {
  const { first } = await begun(events, installation.clock)
  const stream = streams.start(reply)
  try {
    for (let next = await first; next.done !== true; next = await events.next()) {
      const { type, ...data } = next.value
      await stream.send(type, 'answer' in data ? { ...data.answer, run_id: runId } : data)
    }
  } catch (error) {
    await stream.send('error', late(installation, error))
  }
  stream.end()
  return reply
}

/** What went wrong after the stream was opened. */
function late({ log }: Service['installation'], error: unknown): unknown {
  if (error instanceof ToolRefusedError) return error.result
  const problem = problemOf(error)
  if (problem instanceof HttpProblem) return problem
  writeLog(log, 'error', { err: error }, 'A run could not be told to its end')
  return new HttpProblem(500, 'The request could not be answered')
}

/** Status and envelope of `/tools/execute`. */
function refuse(reply: FastifyReply, { result }: ToolRefusedError, { waitMs }: ClientRun): FastifyReply {
  if (result.error_code === 'RATE_LIMITED') reply.header('retry-after', Math.max(1, Math.ceil(waitMs / 1_000)))
  return reply.code(TOOL_ERRORS[result.error_code].status).send(result)
}

function problemOf(error: unknown): unknown {
  if (error instanceof NoResponseRuleError || error instanceof UnknownModelError) {
    return new HttpProblem(400, error.message)
  }
  return error
}
