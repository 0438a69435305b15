import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Code } from '../parts/section.tsx'
import { Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { TextField } from '../setup/field.tsx'

/** Stores a secret. Its value leaves the page with the request. */
export function AddSecret() {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const add = useMutation({
    mutationFn: (secret: { readonly name: string; readonly value: string }) =>
      requestJson('/api/setup/secrets', { method: 'POST', body: secret }),
    // Secrets don't stay in the memory of the page.
    gcTime: 0,
    onSuccess: (_, { name: added }) => {
      setName('')
      setValue('')
      toast({ text: `Stored the secret ${added}. Write \${secret:${added}} in the configuration to use it.` })
      add.reset()
      return client.invalidateQueries({ queryKey: ['setup'] })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== '' && value !== '' && !add.isPending) add.mutate({ name: name.trim(), value })
  }
  return (
    <form onSubmit={submit} aria-label="Add a secret" className="panel grid grid-cols-1 gap-3 p-4">
      <div className="grid grid-cols-1 items-start gap-3 sm:grid-cols-2">
        <TextField label="Name" mono maxLength={64} placeholder="SHOP_API_KEY" value={name} onChange={setName} />
        <TextField label="Value" secret value={value} onChange={setValue} />
      </div>
      {add.error && (
        <Note tone="bad" role="alert">
          {add.error.message}
        </Note>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" disabled={name.trim() === '' || value === '' || add.isPending}>
          {add.isPending ? 'Storing …' : 'Store the secret'}
        </Button>
        <p className="text-sm text-muted">
          The configuration refers to it as <Code>{`\${secret:${name.trim() || 'NAME'}}`}</Code>.
        </p>
      </div>
    </form>
  )
}
