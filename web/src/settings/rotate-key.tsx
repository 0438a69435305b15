import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ShownKey } from '../../../src/operations/key-rules.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { inDate } from '../parts/figures.ts'
import { Note } from '../parts/states.tsx'
import { NewKey } from './new-key.tsx'
import type { MadeKey } from './setting-queries.ts'

const GRACE = [
  { value: '0', label: 'at once' },
  { value: '60', label: 'in 1 hour' },
  { value: '480', label: 'in 8 hours' },
  { value: '1440', label: 'in 24 hours' },
]

interface RotatedKey extends MadeKey {
  readonly former_until: string | null
}

interface RotateKeyProps {
  readonly shown: ShownKey
  readonly onDone: () => void
}

/** Gives a key another secret, and shows it once. */
export function RotateKey({ shown: { id, name }, onDone }: RotateKeyProps) {
  const client = useQueryClient()
  const [grace, setGrace] = useState('0')
  const rotate = useMutation({
    mutationFn: () =>
      requestJson<RotatedKey>(`/api/keys/${encodeURIComponent(id)}/rotate`, {
        method: 'POST',
        body: { grace_minutes: Number(grace) },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
  const { data: made, error } = rotate
  if (made !== undefined) {
    const { former_until } = made
    const former = former_until === null ? 'is refused from now on' : `works until ${inDate(former_until)}`
    return (
      <NewKey made={made} title={`New secret of “${name}”`} onDone={onDone}>
        The former secret {former}.
      </NewKey>
    )
  }
  return (
    <section aria-label={`Rotate ${name}`} className="grid gap-3 rounded-lg border border-line p-3">
      <p>The key gets another secret. Its id, rights, limits and budget stay, and its browser sessions end.</p>
      <div className="flex flex-wrap items-center gap-2">
        <span>The former secret ends</span>
        <div className="w-40">
          <Choice label="The former secret ends" value={grace} options={GRACE} onChange={setGrace} />
        </div>
        <Button look="main" disabled={rotate.isPending} onClick={() => rotate.mutate()}>
          {rotate.isPending ? 'Rotating …' : 'Rotate the key'}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
      {grace === '0' && <p className="text-muted">Everything that runs for the key now ends.</p>}
      {error && (
        <Note tone="bad" role="alert">
          {error.message}
        </Note>
      )}
    </section>
  )
}
