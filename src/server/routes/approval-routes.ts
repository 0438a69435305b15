import type { FastifyInstance } from 'fastify'
import { LOCAL_CALLER } from '../../app/callers/callers.ts'
import type { ApprovalDecision } from '../../app/durable/approvals.ts'
import type { PauseStatus } from '../../core/storage/pause-store.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME, TIME_OR_NULL } from '../http/route.ts'

const STATUS = { enum: ['pending', 'approved', 'rejected', 'expired'] }
const PARAMS = { type: 'object', additionalProperties: true }
const TEXT_OR_NULL = { type: ['string', 'null'] }

const APPROVAL = {
  id: TEXT,
  status: STATUS,
  tenant: TEXT,
  tool: TEXT,
  question: {
    type: ['object', 'null'],
    properties: { kind: { enum: ['elicitation', 'sampling'] }, server: TEXT },
    description: 'What an MCP server asks during a call; null if a call waits to run.',
  },
  params: { ...PARAMS, description: 'The parameters that the caller asked for, or those of the question.' },
  approved_params: {
    ...PARAMS,
    type: ['object', 'null'],
    description: 'The approved parameters, if they differ, or the answer.',
  },
  caller: { type: 'string', description: 'The id of the API key that asked.' },
  caller_name: TEXT,
  run_id: TEXT_OR_NULL,
  requested_at: TIME,
  expires_at: { ...TIME, description: 'It can be decided until then, and an approved call can run until then.' },
  decided_by: { ...TEXT_OR_NULL, description: 'The id of the API key that decided, or local.' },
  decided_by_name: TEXT_OR_NULL,
  decided_at: TIME_OR_NULL,
  reason: TEXT_OR_NULL,
  refused: { ...TEXT_OR_NULL, description: 'Why you may not decide; null if you may.' },
  changed: {
    ...TEXT_OR_NULL,
    description: 'Why a call that has not run can only be rejected and asked for again: its tool has changed.',
  },
}

const ID = pathParameter('id', 64)
const PAGE_ONLY =
  'without an API key, decide in the web UI or with "toolyard approvals": a program that calls tools must not approve them'

interface ListQuery {
  readonly status?: PauseStatus
  readonly limit: number
  readonly cursor?: string
}

/** Approvals of calls. */
export function approvalRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { approvals, storage, clock } = installation

  app.get<{ Querystring: ListQuery }>(
    '/api/approvals',
    route('approve', 'approvals', 'Lists the approvals of your tenant, newest first', {
      querystring: exactly({
        status: STATUS,
        limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
        cursor: { type: 'string', minLength: 1, maxLength: 1_000, description: '`next` of the previous page.' },
      }),
      response: {
        200: object(
          {
            approvals: list(APPROVAL),
            pending: { ...COUNT, description: 'The number of pending approvals.' },
            next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
          },
          'One page',
        ),
      },
    }),
    async ({ caller, query }) => {
      const { tenant } = caller
      const [page, pending] = await Promise.all([
        approvals.list({ ...query, tenant }, caller),
        storage.pauses.countPending(tenant, clock.wall()),
      ])
      return { ...page, pending }
    },
  )

  app.get<{ Params: { id: string } }>(
    '/api/approvals/:id',
    route('approve', 'approvals', 'Returns an approval', {
      params: ID,
      response: { 200: object(APPROVAL, 'The approval') },
    }),
    async ({ caller, params: { id } }) => {
      const approval = await approvals.get(caller.tenant, id, caller)
      if (approval === undefined) installation.events.crossed(caller, `approval ${id}`, storage.pauses.tenantOf(id))
      return found(approval, `Approval '${id}'`)
    },
  )

  app.post<{ Params: { id: string }; Body: ApprovalDecision }>(
    '/api/approvals/:id',
    route('approve', 'approvals', 'Approves or rejects a call, or answers a question of an MCP server', {
      params: ID,
      body: {
        ...exactly({
          decision: { enum: ['approve', 'reject'] },
          params: {
            ...PARAMS,
            description: 'Run the call with these parameters instead. The answer to a question: its fields, or text.',
          },
          reason: { type: 'string', maxLength: 1_000, pattern: '^[^\\u0000]*$', description: 'Shown to the caller.' },
        }),
        required: ['decision'],
      },
      response: { 200: object(APPROVAL, 'The approval') },
    }),
    async ({ caller, params: { id }, body, headers }) => {
      const { tenant } = caller
      if ((await storage.pauses.get(tenant, id)) === undefined) {
        installation.events.crossed(caller, `approval ${id}`, storage.pauses.tenantOf(id))
      }
      // Browsers send their origin with every POST, and the server has compared it with its own.
      else if (caller === LOCAL_CALLER && headers.origin === undefined) {
        throw new HttpProblem(403, 'Requests without an API key cannot decide', PAGE_ONLY)
      }
      return approvals.decide(tenant, id, body, caller, caller)
    },
  )
}
