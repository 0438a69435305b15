import { LOCAL_CALLER } from '../app/callers/callers.ts'
import type { ApprovalView } from '../app/durable/approvals.ts'
import type { Installation } from '../app/installation.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import {
  COUNT,
  type CommandOf,
  inPath,
  list,
  type OperationCall,
  object,
  operation,
  PAGE,
  type Shown,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type Typed,
} from './operation.ts'

const STATUS = { enum: ['pending', 'approved', 'rejected', 'expired'] } as const
const PARAMS = { type: 'object', additionalProperties: true } as const

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

const ID = { id: inPath(64) }
const PAGE_ONLY =
  'without an API key, decide in the web UI or with "toolyard approvals": a program that calls tools must not approve them'

/** The tenant of an approval. Records that a caller asked for one of another tenant. */
async function tenantOf({ storage, events }: Installation, id: string, call: OperationCall): Promise<string> {
  const { caller, tenant } = call
  const owner = () => storage.pauses.tenantOf(id)
  const own = tenant ?? (await owner())
  const isThere = own !== undefined && (await storage.pauses.get(own, id)) !== undefined
  if (!isThere && caller !== undefined) events.crossed(caller, `approval ${id}`, owner())
  return found(isThere ? own : undefined, 'Approval', id)
}

const MAX_LISTED = 200
const HEAD = ['ID', 'STATUS', 'TENANT', 'CALLER', 'TOOL', 'PARAMETERS', 'EXPIRES']

function rowOf(approval: ApprovalView): string[] {
  const { id, status, tenant, caller_name, tool, params, approved_params, expires_at, changed } = approval
  const shown = changed === null ? status : `${status}, changed`
  return [id, shown, tenant, caller_name, tool, JSON.stringify(approved_params ?? params), expires_at]
}

/** `toolyard approvals approve` and `reject`. */
const decides = (decision: 'approve' | 'reject', done: string, options: NonNullable<Deciding['options']>) => ({
  command: `approvals ${decision}`,
  description: `${decision === 'approve' ? 'Approve' : 'Reject'} a call`,
  arguments: { id: 'the id that "approvals list" shows' },
  options,
  read: (typed: Typed) => ({ ...typed, decision }),
  tool: async ({ storage }: Installation, { id }: { readonly id: string }) => {
    const tenant = decision === 'approve' ? await storage.pauses.tenantOf(id) : undefined
    return tenant === undefined ? null : ((await storage.pauses.get(tenant, id))?.tool ?? null)
  },
  ...{ thing: 'approval with the id', hint: 'see "toolyard approvals list"' },
  show: ({ id }: ApprovalView): Shown => ({ result: [`${done} ${id}`] }),
})
type Deciding = CommandOf<{ readonly id: string }, ApprovalView>

const operations = {
  list: operation({
    id: 'approvals.list',
    method: 'GET',
    path: '/api/approvals',
    scope: 'approve',
    tag: 'approvals',
    summary: 'Lists the approvals of your tenant, newest first',
    query: { status: STATUS, ...PAGE },
    answer: object(
      {
        approvals: list(APPROVAL),
        pending: { ...COUNT, description: 'The number of pending approvals.' },
        next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
      },
      'One page',
    ),
    needs: 'installation',
    async run({ approvals, storage, clock }, { status, limit, cursor }, { tenant, caller }) {
      const [page, pending] = await Promise.all([
        approvals.list({ tenant, status, limit, cursor }, caller),
        storage.pauses.countPending(tenant, clock.wall()),
      ])
      return { ...page, pending }
    },
    cli: {
      command: 'approvals list',
      description: 'List the newest approvals with their parameters',
      options: {
        status: {
          ...{ flags: '--status <status>', description: 'only these', default: 'pending' },
          choices: [...STATUS.enum, 'all'],
        },
      },
      tenant: 'only approvals of this tenant',
      read: ({ status }) => ({ ...(status !== 'all' && { status }), limit: MAX_LISTED }),
      nothing: { approvals: [], pending: 0 },
      show: ({ approvals }, { status }) => ({
        document: { approvals },
        ...(approvals.length > 0
          ? { table: [HEAD, ...approvals.map(rowOf)] }
          : { notes: [`No ${status === undefined ? '' : `${status} `}approvals.`] }),
      }),
    },
  }),
  get: operation({
    id: 'approvals.get',
    method: 'GET',
    path: '/api/approvals/:id',
    scope: 'approve',
    tag: 'approvals',
    summary: 'Returns an approval',
    params: ID,
    answer: object(APPROVAL, 'The approval'),
    needs: 'installation',
    async run(host, { id }, call) {
      const approval = await host.approvals.get(await tenantOf(host, id, call), id, call.caller)
      return found(approval, 'Approval', id)
    },
  }),
  decide: operation({
    id: 'approvals.decide',
    method: 'POST',
    path: '/api/approvals/:id',
    scope: 'approve',
    tag: 'approvals',
    summary: 'Approves or rejects a call, or answers a question of an MCP server',
    params: ID,
    body: {
      decision: { enum: ['approve', 'reject'] },
      params: {
        ...PARAMS,
        description: 'Run the call with these parameters instead. The answer to a question: its fields, or text.',
      },
      reason: { type: 'string', maxLength: 1_000, pattern: '^[^\\u0000]*$', description: 'Shown to the caller.' },
    },
    required: ['decision'],
    answer: object(APPROVAL, 'The approval'),
    needs: 'servers',
    async run(host, { id, ...decision }, call) {
      const tenant = await tenantOf(host, id, call)
      if (call.caller === LOCAL_CALLER && call.face !== 'page') {
        throw new OperationError('forbidden', 'Requests without an API key cannot decide', PAGE_ONLY)
      }
      return host.approvals.decide(tenant, id, decision, call.by, call.caller)
    },
    cli: [
      decides('approve', 'Approved', {
        params: { flags: '--params <json>', description: 'run the call with these parameters instead' },
        reason: { flags: '--reason <text>', description: 'recorded with the decision' },
      }),
      decides('reject', 'Rejected', { reason: { flags: '--reason <text>', description: 'told to the caller' } }),
    ],
  }),
}

/** Approvals of calls. */
export const approvals = {
  operations,
  help: `
A tool with "approval" in its definition runs only after a person has approved the call.

Examples:
  $ toolyard approvals list
  $ toolyard approvals approve 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11
  $ toolyard approvals approve 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --params '{"amount":5}' --reason 'Half is enough'
  $ toolyard approvals reject 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --reason 'Not this month'`,
}
