import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { toolsQuery, useMay } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import type { FlagChange } from './setting-queries.ts'

interface FlagFormProps {
  readonly tenants: readonly string[]
  readonly pending: boolean
  readonly onSet: (change: FlagChange) => void
}

const VALUES = [
  { value: 'true', label: 'allowed' },
  { value: 'false', label: 'denied' },
]

/** Stores a flag of any tenant. */
export function FlagForm({ tenants, pending, onSet }: FlagFormProps) {
  const ids = useId()
  const mayRead = useMay('read')
  const { data: tools = [] } = useQuery({ ...toolsQuery, enabled: mayRead })
  const [tenant, setTenant] = useState('')
  const [flag, setFlag] = useState('')
  const [value, setValue] = useState('true')
  const names = [...new Set(tools.flatMap(({ name, permissions }) => [...permissions, name]))].sort()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSet({ tenant: tenant.trim(), flag: flag.trim(), value: value === 'true' })
    setFlag('')
  }
  return (
    <form
      onSubmit={submit}
      aria-label="Set a flag"
      className="panel grid grid-cols-1 items-end gap-3 p-4 sm:grid-cols-[12rem_1fr_8rem_auto]"
    >
      <label htmlFor={`${ids}tenant`} className="grid gap-1 text-sm font-medium">
        Tenant
        <input
          id={`${ids}tenant`}
          list={`${ids}tenants`}
          className="field font-mono"
          maxLength={64}
          autoComplete="off"
          value={tenant}
          onChange={(event) => setTenant(event.target.value)}
        />
      </label>
      <datalist id={`${ids}tenants`}>
        {tenants.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <label htmlFor={`${ids}flag`} className="grid gap-1 text-sm font-medium">
        Permission or tool
        <input
          id={`${ids}flag`}
          list={`${ids}flags`}
          className="field font-mono"
          maxLength={128}
          autoComplete="off"
          value={flag}
          onChange={(event) => setFlag(event.target.value)}
        />
      </label>
      <datalist id={`${ids}flags`}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div className="text-sm">
        <Choice label="Allowed or denied" value={value} options={VALUES} onChange={setValue} />
      </div>
      <Button type="submit" disabled={pending || tenant.trim() === '' || flag.trim() === ''}>
        Set flag
      </Button>
    </form>
  )
}
