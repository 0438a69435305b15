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

/** Replays a stored run without running tools, optionally with a model. */
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
    { value: RECORDED, label: 'Recorded responses, no model call' },
    ...(mayChat ? models : []).map(({ id, name, reason }) => ({
      value: id,
      label: reason === undefined ? `ask ${name}` : `${name} (not available)`,
      disabled: reason !== undefined,
    })),
  ]
  return (
    <section aria-label="Replay" className="panel mt-3 p-4">
      <p className="max-w-prose text-sm text-muted">
        A replay repeats the run without running tools: every call gets its recorded result. With recorded responses it
        shows whether Toolyard still behaves the same. With a model, which may cost money, it shows whether the model
        makes the same calls.
      </p>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <div className="max-w-full min-w-0">
          <Choice
            label="Model"
            value={model}
            options={options}
            onChange={(chosen) => {
              setModel(chosen)
              replay.reset()
            }}
          />
        </div>
        <Button look="main" disabled={replay.isPending} onClick={() => replay.mutate()}>
          {replay.isPending ? 'Replaying …' : 'Start replay'}
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
                ? 'The replay matches the run: all messages, calls and the answer are the same.'
                : 'The model makes the same calls.'
              : `The replay differs. ${replay.data.difference}`}
          </Note>
          {model !== RECORDED && replay.data.answer !== null && (
            <p className="text-sm break-words whitespace-pre-wrap">
              <span className="text-muted">Answer: </span>
              {replay.data.answer.content || '(nothing)'}
            </p>
          )}
        </div>
      )}
    </section>
  )
}
