import { describe, test } from 'vitest'

describe('Durable runs', () => {
  test.todo(
    '[12.2-1] With durable: true on /chat and yard.run, or header Toolyard-Durable: true on /v1/chat/completions, every model answer and every call result is stored before the run goes on',
  )
  test.todo('[12.2-2] A durable run with Prefer: respond-async answers 202 with Location: /api/runs/:id')
  test.todo(
    '[12.2-3] After kill -9 at any point the run continues where it was, on the same server (SQLite) or any (Postgres)',
  )
  test.todo(
    '[12.2-4] A stored model answer is never asked for again. One that was not stored when the process died is asked for again and counted',
  )
  test.todo('[12.2-5] No write runs twice. A write whose outcome is not known is reported to the model as such')
  test.todo('[12.2-6] After 5 resumes without progress the run is failed')
  test.todo('[12.2-7] Time spent waiting for a person does not count against deadlines')
  test.todo('[12.2-8] Starting a run takes Idempotency-Key')
  test.todo('[12.2-9] GET /api/runs/:id has status: running | waiting | finished | failed | cancelled and the steps')
  test.todo('[12.2-10] GET /api/runs/:id/events is SSE and resumes from Last-Event-ID')
  test.todo('[12.2-11] DELETE /api/runs/:id cancels the run')
  test.todo(
    '[12.2-12] A caller with chat reads, follows and cancels its own runs, and observe sees those of the tenant, as with jobs',
  )
  test.todo('[12.2-13] A run that waits for an approval costs nothing: no timer, no open request, any number of them')
  test.todo('[12.2-14] A run that needs an approval becomes durable at that moment')
  test.todo('[12.2-15] /chat answers a waiting run with 200, status: "waiting", run_id and approvals')
  test.todo(
    '[12.2-16] /v1/chat/completions answers a waiting run with finish_reason: "stop", a sentence as content, and the fields of /chat under toolyard',
  )
  test.todo('[12.2-17] Streams of a waiting run send these fields and end')
  test.todo(
    '[12.2-18] createToolyard writes no file unless storage is set. durable or approval without a store is refused when the instance is created',
  )
  test.todo(
    '[12.2-19] Resume data (complete, not redacted) is a table of its own: never listed or exported, readable by the continuation only',
  )
  test.todo('[12.2-20] Resume data is encrypted with TOOLYARD_ENCRYPTION_KEY if it is set')
  test.todo('[12.2-21] Resume data is deleted 24 h after the run ends')
  test.todo('[12.2-22] /api/runs shows the bounded, redacted record')
})
