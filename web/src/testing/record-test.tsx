import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ModelValidation } from '../../../src/core/storage/validation-store.ts'
import { useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Note } from '../parts/states.tsx'
import type { Answer } from './run-state.ts'
import { type Reply, toolsIn } from './threads.ts'

interface RecordTestProps {
  readonly run: Reply
  readonly answer: Answer
  /** Shows a button that opens the form. Earlier answers of a thread are mostly read. */
  readonly isFolded: boolean
}

/** Records a run as a passed or failed test of its model. */
export function RecordTest({ run, answer, isFolded }: RecordTestProps) {
  const client = useQueryClient()
  const mayValidate = useMay('validate')
  const [why, setWhy] = useState('')
  const [isOpened, setOpened] = useState(false)
  const record = useMutation({
    mutationFn: (success: boolean) => {
      const details = { query: run.query, tools: toolsIn(run), run_id: answer.run_id }
      const error = why.trim() || 'The answer was not as expected'
      const body = { model: run.model, success, details, ...(!success && { error }) }
      return requestJson<ModelValidation>('/api/tools/validate', { method: 'POST', body })
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['models'] }),
  })
  if (!mayValidate) return <p className="mt-4 text-sm text-muted">Your key can’t record tests.</p>
  if (record.isSuccess) {
    const { success_count, test_count } = record.data
    return (
      <div className="mt-4">
        <Note tone={record.variables ? 'good' : 'warn'} role="status">
          Recorded as {record.variables ? 'passed' : 'failed'}: {success_count} of {test_count} passed so far.
        </Note>
      </div>
    )
  }
  if (isFolded && !isOpened) {
    return (
      <div className="mt-1 -ml-3">
        <Button look="quiet" onClick={() => setOpened(true)}>
          Record this test
        </Button>
      </div>
    )
  }
  return (
    <fieldset className="mt-3 border-t border-line pt-2" disabled={record.isPending}>
      <legend className="sr-only">Record this test</legend>
      <div className="flex flex-wrap items-center gap-2">
        <p className="text-sm text-muted">Did the model do what you expected?</p>
        <Button onClick={() => record.mutate(true)}>Record as passed</Button>
        <Button onClick={() => record.mutate(false)}>Record as failed</Button>
        <input
          aria-label="What went wrong (optional)"
          placeholder="What went wrong (optional)"
          className="field min-w-44 flex-1 text-sm"
          maxLength={500}
          value={why}
          onChange={(event) => setWhy(event.target.value)}
        />
      </div>
      {record.error && (
        <div className="mt-2">
          <Note tone="bad" role="alert">
            {record.error.message}
          </Note>
        </div>
      )}
    </fieldset>
  )
}
