import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Installation } from '../config/installation.ts'
import { PROBLEM_TYPE } from './http-problem.ts'
import { problemOf } from './problem-of.ts'

/** Answers with what went wrong. */
export function answerProblem(
  installation: Installation,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = problemOf(installation, error, request)
  return reply.headers(problem.headers).code(problem.status).type(PROBLEM_TYPE).send(JSON.stringify(problem))
}
