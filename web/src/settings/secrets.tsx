import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { request } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ownValue } from '../parts/own-value.ts'
import { Code, Section } from '../parts/section.tsx'
import { Empty, Failed, Loading, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { TextField } from '../setup/field.tsx'
import { type SetupState, setupQuery } from '../setup/setup-queries.ts'
import { AddSecret } from './add-secret.tsx'

/** The names of the secrets in the store, and what uses them. Values are never shown. */
export function Secrets() {
  const { data: setup, error, refetch } = useQuery(setupQuery)
  return (
    <Section title="Secrets" about="Stored encrypted. Their values are never shown.">
      {setup !== undefined ? (
        <>
          <List secrets={setup.secrets} />
          {setup.secrets.enabled && <AddSecret />}
        </>
      ) : error ? (
        <Failed error={error} what="the secrets" again={() => void refetch()} />
      ) : (
        <Loading what="the secrets" />
      )}
    </Section>
  )
}

function List({ secrets: { names, uses, reason } }: Pick<SetupState, 'secrets'>) {
  if (names.length === 0) {
    return (
      <Empty title="No secrets">
        {reason ?? (
          <>
            The forms above store keys and tokens here, and so does <Code>toolyard secrets set</Code>. Or add one below.
          </>
        )}
      </Empty>
    )
  }
  return (
    <ul aria-label="Secrets" className="panel divide-y divide-line">
      {names.map((name) => (
        <Secret key={name} name={name} uses={ownValue(uses, name) ?? []} />
      ))}
    </ul>
  )
}

interface SecretProps {
  readonly name: string
  readonly uses: readonly string[]
}

function Secret({ name, uses }: SecretProps) {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const [replacing, setReplacing] = useState(false)
  const remove = useMutation({
    mutationFn: () => request(`/api/setup/secrets/${encodeURIComponent(name)}`, { method: 'DELETE' }),
    onSuccess: () => toast({ text: `Removed the secret ${name}` }),
    onSettled: () => client.invalidateQueries({ queryKey: ['setup'] }),
  })
  return (
    <li className="grid grid-cols-1 gap-2 px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <span className="font-mono font-medium break-all">{name}</span>
        <span className="text-muted">
          {uses.length === 0 ? 'The configuration doesn’t use it.' : `Used by ${uses.join(', ')}`}
        </span>
        <div className="ml-auto flex gap-2">
          <Button aria-label={`Replace ${name}`} aria-expanded={replacing} onClick={() => setReplacing(!replacing)}>
            Replace
          </Button>
          {uses.length === 0 && (
            <Button
              look="danger"
              aria-label={`Remove ${name}`}
              disabled={remove.isPending}
              onClick={() => setAsking(true)}
            >
              Remove
            </Button>
          )}
        </div>
      </div>
      {replacing && <ReplaceSecret name={name} close={() => setReplacing(false)} />}
      {remove.error && (
        <Note tone="bad" role="alert">
          {remove.error.message}
        </Note>
      )}
      <ConfirmDialog
        open={asking}
        title={`Remove the secret ${name}?`}
        action="Remove"
        onConfirm={() => {
          setAsking(false)
          remove.mutate()
        }}
        onClose={() => setAsking(false)}
      >
        The server can’t show or restore its value.
      </ConfirmDialog>
    </li>
  )
}

/** Its value leaves the page with the request. */
function ReplaceSecret({ name, close }: { readonly name: string; readonly close: () => void }) {
  const [value, setValue] = useState('')
  const replace = useMutation({
    mutationFn: (body: { readonly value: string }) =>
      request(`/api/setup/secrets/${encodeURIComponent(name)}`, { method: 'PUT', body }),
    // Secrets don't stay in the memory of the page.
    gcTime: 0,
    onSuccess: () => {
      toast({ text: `Replaced the value of ${name}. What uses it gets the new one.` })
      close()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (value !== '' && !replace.isPending) replace.mutate({ value })
  }
  return (
    <form onSubmit={submit} aria-label={`Replace ${name}`} className="grid grid-cols-1 gap-2">
      <div className="flex flex-wrap items-end gap-2">
        <div className="min-w-0 grow sm:max-w-md">
          <TextField label="New value" secret autoFocus value={value} onChange={setValue} />
        </div>
        <Button type="submit" disabled={value === '' || replace.isPending}>
          {replace.isPending ? 'Replacing …' : 'Replace the value'}
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
      {replace.error && (
        <Note tone="bad" role="alert">
          {replace.error.message}
        </Note>
      )}
    </form>
  )
}
