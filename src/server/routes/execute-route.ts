import type { FastifyInstance } from 'fastify'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import type { TextRequest } from '../execute/text-request.ts'
import type { ToolCallDoor } from '../execute/tool-call-door.ts'
import { JOB_SCHEMA } from './job-routes.ts'

const BODY = {
  type: 'object',
  examples: [{ tool_name: 'math_eval', params: { expression: '2+2' } }],
  required: ['tool_name', 'params'],
  properties: {
    tool_name: { type: 'string', examples: ['math_eval'] },
    params: { type: 'object', additionalProperties: true, examples: [{ expression: '2+2' }] },
    timeout_ms: { type: 'number', description: 'The deadline of this call, brought to 1 s … 60 s.' },
    session_id: { type: 'string', description: 'What its calls are counted by, besides the key; or X-Session-Id.' },
  },
}

const HEADERS = {
  type: 'object',
  properties: {
    'idempotency-key': { type: 'string', description: 'A repeat with the same key gets the answer of the first call.' },
    prefer: { type: 'string', description: 'respond-async: the call runs in the background.' },
    traceparent: { type: 'string', description: 'The W3C trace context that the call belongs to.' },
  },
}

const TIME = { type: 'number', description: 'Of the whole attempt, validation included.' }
const SUCCESS = {
  description: 'The result; where text/event-stream is accepted, events "progress", then one event "result" with it',
  type: 'object',
  properties: { success: { const: true }, result: {}, tool_name: { type: 'string' }, execution_time_ms: TIME },
}
const FAILURE = {
  type: 'object',
  properties: {
    success: { const: false },
    error: { type: 'string', examples: ["Invalid parameters: missing 'expression'"] },
    error_code: { enum: Object.keys(TOOL_ERRORS) },
    tool_name: { type: 'string' },
    execution_time_ms: TIME,
    details: { type: 'object', additionalProperties: true, description: 'What is wrong with the parameters.' },
    suggestions: { type: 'array', items: { type: 'string' }, description: 'Tools that may be meant.' },
    outcome: { const: 'unknown', description: 'A write that may have happened.' },
  },
}

const failures = Object.fromEntries(
  Object.entries(Object.groupBy(Object.entries(TOOL_ERRORS), ([, { status }]) => status)).map(
    ([status, codes = []]) => [status, { ...FAILURE, description: codes.map(([code]) => code).join(' or ') }],
  ),
)

/**
 * `POST /tools/execute`: what is said of it, and the way there for requests whose address is written otherwise, since
 * the server hands all others to the door itself.
 */
export function executeRoute(app: FastifyInstance, door: ToolCallDoor): void {
  app.post(
    '/tools/execute',
    {
      config: { scope: 'call' },
      schema: {
        summary: 'Runs a tool',
        tags: ['tools'],
        headers: HEADERS,
        body: BODY,
        response: { 200: SUCCESS, 202: { ...JOB_SCHEMA, description: 'The job, where Prefer said so' }, ...failures },
      },
      onRequest: (request, reply) => {
        reply.hijack()
        door.handle(request.raw as TextRequest, reply.raw)
      },
    },
    () => {},
  )
}
