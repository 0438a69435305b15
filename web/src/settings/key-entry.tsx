import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type MouseEvent, useRef, useState } from 'react'
import type { ShownKey } from '../../../src/operations/key-rules.ts'
import { request } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { inDate, inNumber } from '../parts/figures.ts'
import { Chip, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { KeyForm } from './key-form.tsx'
import { RotateKey } from './rotate-key.tsx'

interface KeyEntryProps {
  readonly shown: ShownKey
  /** The key of this session. */
  readonly isOwn: boolean
  /** The only key of the tenant that can manage keys. */
  readonly isLastAdmin: boolean
}

/** An API key with its rights, and buttons to edit and to revoke it. */
export function KeyEntry({ shown, isOwn, isLastAdmin }: KeyEntryProps) {
  const { id, name, role, scopes, tools, models, calls_per_minute, budget } = shown
  const { created_at, expires_at, revoked_at, last_used_at } = shown
  const [open, setOpen] = useState<'edit' | 'rotate'>()
  const opener = useRef<HTMLButtonElement>(null)
  const toggle = (part: 'edit' | 'rotate') => (event: MouseEvent<HTMLButtonElement>) => {
    opener.current = event.currentTarget
    setOpen(open === part ? undefined : part)
  }
  const close = () => {
    opener.current?.focus()
    setOpen(undefined)
  }
  const isOver = expires_at !== null && Date.parse(expires_at) <= Date.now()
  return (
    <li id={`key-${id}`} tabIndex={-1} className="grid grid-cols-1 gap-1.5 px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
        <span className="font-medium break-all">{name}</span>
        <Chip>{role}</Chip>
        {isOwn && <Chip tone="good">yours</Chip>}
        {revoked_at !== null && <Chip tone="bad">revoked</Chip>}
        {revoked_at === null && isOver && <Chip tone="bad">expired</Chip>}
        {revoked_at === null && (
          <span className="ml-auto flex flex-wrap gap-2">
            <Button aria-label={`Edit ${name}`} aria-expanded={open === 'edit'} onClick={toggle('edit')}>
              Edit
            </Button>
            {!isOver && (
              <Button aria-label={`Rotate ${name}`} aria-expanded={open === 'rotate'} onClick={toggle('rotate')}>
                Rotate
              </Button>
            )}
            <Revoke shown={shown} isOwn={isOwn} isLastAdmin={isLastAdmin} />
          </span>
        )}
      </div>
      {open === 'edit' && revoked_at === null && <KeyForm edited={shown} onDone={close} />}
      {open === 'rotate' && revoked_at === null && <RotateKey shown={shown} onDone={close} />}
      <dl className="flex flex-wrap gap-x-5 gap-y-0.5 text-muted">
        <Fact name="Made">{inDate(created_at)}</Fact>
        {revoked_at !== null && <Fact name="Revoked">{inDate(revoked_at)}</Fact>}
        {revoked_at === null && <Fact name="Expires">{expires_at === null ? 'never' : inDate(expires_at)}</Fact>}
        {revoked_at === null && (
          <Fact name="Last used">{last_used_at === null ? 'not since the server started' : inDate(last_used_at)}</Fact>
        )}
        {scopes !== null && <Fact name="May">{scopes.join(', ')}</Fact>}
        {tools !== null && <Fact name="Tools">{tools.join(', ')}</Fact>}
        {models !== null && <Fact name="Models">{models.join(', ')}</Fact>}
        {calls_per_minute !== null && <Fact name="Calls per minute">{inNumber(calls_per_minute)}</Fact>}
        {budget && (
          <Fact name="Budget">
            {budget.amount} a {budget.per}
            {budget.action === 'warn' && ', warns only'}
          </Fact>
        )}
        <Fact name="Id">
          <span className="font-mono text-xs break-all">{id}</span>
        </Fact>
      </dl>
    </li>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: React.ReactNode }) => (
  <div className="flex flex-wrap gap-x-1.5">
    <dt>{name}:</dt>
    <dd className="text-ink">{children}</dd>
  </div>
)

function Revoke({ shown: { id, name }, isOwn, isLastAdmin }: KeyEntryProps) {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const revoke = useMutation({
    mutationFn: () => request(`/api/keys/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSuccess: async () => {
      if (isOwn) return client.invalidateQueries({ queryKey: ['session'] })
      toast({ text: `Revoked “${name}”`, undo: () => void restore() })
      const row = document.getElementById(`key-${id}`)
      const next = row?.nextElementSibling ?? row?.previousElementSibling ?? document.getElementById('keys')
      await client.invalidateQueries({ queryKey: ['keys'] })
      // Its row is gone.
      if (next instanceof HTMLElement) next.focus()
    },
  })
  const restore = async () => {
    try {
      await request(`/api/keys/${encodeURIComponent(id)}/restore`, { method: 'POST' })
      toast({ text: `“${name}” is valid again` })
    } catch (error) {
      toast({ text: `“${name}” could not be restored. ${(error as Error).message}` })
    }
    await client.invalidateQueries({ queryKey: ['keys'] })
  }
  return (
    <>
      <Button look="danger" aria-label={`Revoke ${name}`} disabled={revoke.isPending} onClick={() => setAsking(true)}>
        {revoke.isPending ? 'Revoking …' : 'Revoke'}
      </Button>
      {revoke.error && (
        <div className="w-full">
          <Note tone="bad" role="alert">
            {revoke.error.message}
          </Note>
        </div>
      )}
      <ConfirmDialog
        open={asking}
        title={`Revoke the key “${name}”?`}
        action="Revoke"
        onConfirm={() => {
          setAsking(false)
          revoke.mutate()
        }}
        onClose={() => setAsking(false)}
      >
        <p>Requests with this key will be refused, and everything that runs for it ends.</p>
        {isOwn && (
          <p className="mt-2 font-medium text-ink">You are signed in with this key. You can’t undo this here.</p>
        )}
        {isLastAdmin && (
          <p className="mt-2 font-medium text-ink">
            No other key of this tenant can manage keys. You will need the command line to create one.
          </p>
        )}
      </ConfirmDialog>
    </>
  )
}
