import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { RunAnswer } from '../../../src/chat/run.ts'
import type { StoredRun } from '../../../src/core/storage/run-store.ts'
import { modelsQuery, useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { Note } from '../parts/states.tsx'

interface Replayed {
  readonly same: boolean
  readonly difference: string | null
  readonly answer: RunAnswer | null
}

const RECORDED = ''

/** Replays a run from what was recorded of it: tools are not run, and a model is asked only where one is chosen. */
export function ReplayRun({ run }: { readonly run: StoredRun }) {
  const mayChat = useMay('chat')
  const { data: models = [] } = useQuery({ ...modelsQuery, enabled: mayChat })
  const [model, setModel] = useState(RECORDED)
  const replay = useMutation({
    mutationFn: () =>
      requestJson<Replayed>(`/api/runs/${run.id}/replay`, {
        method: 'POST',
        body: model === RECORDED ? {} : { model },
      }),
  })
  const options = [
    { value: RECORDED, label: 'as it was recorded: nobody is asked' },
    ...(mayChat ? models : []).map(({ id, name, reason }) => ({
      value: id,
      label: reason === undefined ? `ask ${name}` : `${name} (not available)`,
      disabled: reason !== undefined,
    })),
  ]
  return (
    <section aria-label="Replay" className="panel mt-3 p-4">
      <p className="max-w-prose text-sm text-muted">
        A replay goes through the real loop, and every call gets what it got in the run: no tool is run. As it was
        recorded, it shows whether the loop still does the same. With a model, that one is asked anew, which may cost
        something, and it shows whether it makes the same calls.
      </p>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <div className="max-w-full min-w-0">
          <Choice
            label="Who answers"
            value={model}
            options={options}
            onChange={(chosen) => {
              setModel(chosen)
              replay.reset()
            }}
          />
        </div>
        <Button look="main" disabled={replay.isPending} onClick={() => replay.mutate()}>
          {replay.isPending ? 'Replaying …' : 'Start the replay'}
        </Button>
      </div>
      {replay.error && (
        <div className="mt-3">
          <Note tone="bad" role="alert">
            {replay.error.message}
          </Note>
        </div>
      )}
      {replay.data !== undefined && (
        <div className="mt-3 grid grid-cols-1 gap-2">
          <Note tone={replay.data.same ? 'good' : 'warn'} role="status">
            {replay.data.same
              ? model === RECORDED
                ? 'It goes the same way: every message, every call and the answer are as they were.'
                : 'It makes the same calls.'
              : `It goes another way. ${replay.data.difference}`}
          </Note>
          {model !== RECORDED && replay.data.answer !== null && (
            <p className="text-sm break-words whitespace-pre-wrap">
              <span className="text-muted">It answered: </span>
              {replay.data.answer.content || '(nothing)'}
            </p>
          )}
        </div>
      )}
    </section>
  )
}
