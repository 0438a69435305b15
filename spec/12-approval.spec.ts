import { describe, test } from 'vitest'

describe('Approval', () => {
  test.todo(
    '[12.1-1] approval on a definition is true or {when?: <JSON Schema that the parameters match>, by?: [roles] (operator, admin), self? (false), expires_ms? (24 h)}',
  )
  test.todo(
    '[12.1-2] The order is permission, validation, limits, stored answer of an idempotency key (returned without asking), approval, cache, run',
  )
  test.todo('[12.1-3] Asking and running count once against limits')
  test.todo('[12.1-4] Permission, validation and limits come first: nobody is asked about a call that could not run')
  test.todo(
    '[12.1-5] When a call in a run needs approval, the other calls of the turn run and the run pauses (status: "waiting", stop_reason: "approval_required", approvals: [{id, tool, params, requested_at, expires_at}])',
  )
  test.todo('[12.1-6] A paused run goes on by itself when its last approval is decided')
  test.todo('[12.1-7] The model is told about a rejected call, with the reason')
  test.todo(
    '[12.1-8] The person who approves may change the parameters. They are validated again, and the record shows both',
  )
  test.todo(
    '[12.1-9] A direct call (REST, MCP, library) that needs approval gives a failure envelope APPROVAL_REQUIRED (HTTP 403, the tenth code) with details.approval {id, expires_at}',
  )
  test.todo(
    '[12.1-10] The same call with approval_id (and the original parameters) runs what was approved, once. A repeat returns the stored envelope',
  )
  test.todo('[12.1-11] An approval is bound to tenant, caller, tool, version and the hash of the parameters asked for')
  test.todo('[12.1-12] An identical call while an approval is pending gets the same id')
  test.todo('[12.1-13] A caller may have at most 100 pending approvals. More give RATE_LIMITED')
  test.todo(
    '[12.1-14] GET /api/approvals?status=pending lists approvals, and POST /api/approvals/:id {decision: "approve" | "reject", params?, reason?} decides one',
  )
  test.todo('[12.1-15] toolyard approvals list|approve|reject lists and decides approvals')
  test.todo('[12.1-16] The page has an inbox for approvals')
  test.todo('[12.1-17] Over MCP, an approval is a URL elicitation if the client offers it')
  test.todo('[12.1-18] Deciding needs the new scope approve (operator, admin) and a role in by')
  test.todo(
    '[12.1-19] The asker never decides, neither by the same key or user nor by a key which that key created, unless self: true',
  )
  test.todo('[12.1-20] On a keyless server the local caller decides, on the page or the command line only')
  test.todo(
    "[12.1-21] Form elicitation and the AI SDK's tool-approval-request are answered by the asker, so they decide only with self: true. Otherwise the client gets a URL elicitation or a pending part that leads to the inbox",
  )
  test.todo('[12.1-22] Every decision is in the audit log with the person who decided')
  test.todo('[12.1-23] A rejected call gives PERMISSION_DENIED with the reason, and nothing runs')
  test.todo('[12.1-24] An expired approval gives APPROVAL_REQUIRED with a new id, and nothing runs')
  test.todo('[12.1-25] A second decision answers 409')
  test.todo("[12.1-26] Another tenant's approval answers 404")
  test.todo('[12.1-27] The audit row has both hashes, the approval row both parameters')
})
