import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ChatRequest } from '../../chat/chat.ts'
import { NoResponseRuleError } from '../../chat/rules/no-response-rule-error.ts'
import { ToolRefusedError } from '../../chat/tool-refused-error.ts'
import type { Installation } from '../../config/installation.ts'
import { writeLog } from '../../core/log.ts'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import type { EventStream } from '../event-stream.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { acceptsEvents } from '../streams.ts'
import { ClientRun } from './client-run.ts'
import { type RunWriter, streamRun } from './stream-run.ts'

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
    if (acceptsEvents(request)) {
      return await streamRun(service, reply, chat.run(question), writerOf(service.installation, run.id))
    }
    return { ...(await chat.answer(question)), run_id: run.id }
  } catch (error) {
    if (error instanceof ToolRefusedError) return refuse(reply, error, run)
    throw problemOf(error)
  } finally {
    run.done()
  }
}

/** Each event under its name; the answer, which is the last, as it would be without a stream. */
const writerOf =
  (installation: Installation, runId: string) =>
  (stream: EventStream): RunWriter => ({
    write(event) {
      if (event.type === 'answer') return stream.send('answer', { ...event.answer, run_id: runId })
      const { type, ...data } = event
      return stream.send(type, data)
    },
    fail: (error) => stream.send('error', late(installation, error)),
  })

/** What went wrong after the stream was opened. */
function late({ log }: Installation, error: unknown): unknown {
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
