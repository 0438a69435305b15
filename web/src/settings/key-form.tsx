import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { Note } from '../parts/states.tsx'
import { type MadeKey, rolesQuery } from './setting-queries.ts'

const DAY_MS = 24 * 60 * 60_000
const EXPIRIES = [
  { value: '', label: 'never expires' },
  { value: '30', label: 'for 30 days' },
  { value: '90', label: 'for 90 days' },
  { value: '365', label: 'for a year' },
]

const BUDGET_PERIODS = [
  { value: 'day', label: 'a day' },
  { value: 'month', label: 'a month' },
]

interface KeyFormProps {
  readonly onMade: (made: MadeKey) => void
  /** The first key has all rights, and the server signs this browser in with it. */
  readonly isFirst: boolean
}

/** Creates a key. */
export function KeyForm({ onMade, isFirst }: KeyFormProps) {
  const ids = useId()
  const client = useQueryClient()
  const { data: session } = useQuery(sessionQuery)
  const { data: known } = useQuery(rolesQuery)
  const [name, setName] = useState('')
  const [chosen, setRole] = useState<string>()
  const [days, setDays] = useState('')
  const [calls, setCalls] = useState('')
  const [budget, setBudget] = useState('')
  const [per, setPer] = useState('month')
  const [tools, setTools] = useState('')
  const [models, setModels] = useState('')
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const role = isFirst ? 'admin' : (chosen ?? 'user')
  const scopes = known?.roles.find((one) => one.name === role)?.scopes ?? []
  // A key can't grant scopes that it doesn't have.
  const lacking = new Set<string>(scopes.filter((scope) => session?.scopes.includes(scope) !== true))
  const given = scopes.filter((scope) => !left.has(scope) && !lacking.has(scope))
  const make = useMutation({
    mutationFn: async () => {
      const body = {
        name: name.trim(),
        role,
        ...(given.length < scopes.length && { scopes: given }),
        ...(listOf(tools).length > 0 && { tools: listOf(tools) }),
        ...(listOf(models).length > 0 && { models: listOf(models) }),
        ...(calls !== '' && { calls_per_minute: Number(calls) }),
        ...(budget !== '' && { budget: { amount: Number(budget), per } }),
        ...(days !== '' && { expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }),
      }
      const made = await requestJson<MadeKey>('/api/keys', { method: 'POST', body })
      onMade(made)
    },
    onSuccess: async () => {
      setName('')
      setCalls('')
      setBudget('')
      setTools('')
      setModels('')
      setRole(undefined)
      setLeft(new Set())
      await client.invalidateQueries({
        predicate: ({ queryKey }) => ['session', 'keys', 'tenants'].includes(String(queryKey[0])),
      })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== '' && given.length > 0) make.mutate()
  }
  const toggle = (scope: string) =>
    setLeft((before) => {
      const next = new Set(before)
      if (!next.delete(scope)) next.add(scope)
      return next
    })
  return (
    <form onSubmit={submit} aria-label="Create a key" className="panel grid grid-cols-1 gap-3 p-4">
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-[1fr_9rem_10rem_9rem]">
        <label htmlFor={`${ids}name`} className="grid gap-1 text-sm font-medium">
          Name
          <input
            id={`${ids}name`}
            className="field font-normal"
            placeholder="what uses the key"
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        {!isFirst && (
          <>
            <div className="grid gap-1 text-sm font-medium">
              <span aria-hidden="true">Role</span>
              <Choice
                label="Role"
                value={role}
                options={(known?.roles ?? [{ name: role }]).map((one) => ({ value: one.name, label: one.name }))}
                onChange={(value) => {
                  setRole(value)
                  setLeft(new Set())
                }}
              />
            </div>
            <div className="grid gap-1 text-sm font-medium">
              <span aria-hidden="true">Valid</span>
              <Choice label="Valid" value={days} options={EXPIRIES} onChange={setDays} />
            </div>
            <label htmlFor={`${ids}calls`} className="grid gap-1 text-sm font-medium">
              Calls per minute
              <input
                id={`${ids}calls`}
                type="number"
                min={1}
                max={10_000_000}
                step={1}
                className="field font-normal"
                placeholder="default"
                value={calls}
                onChange={(event) => setCalls(event.target.value)}
              />
            </label>
          </>
        )}
      </div>
      {isFirst ? (
        <p className="text-sm text-muted">
          The first key has all rights: those of an admin, for all tenants and MCP servers. Create keys with fewer
          rights after it.
        </p>
      ) : (
        <>
          <div className="grid grid-cols-1 gap-3 sm:grid-cols-[1fr_1fr_9rem_9rem]">
            <PatternField
              id={`${ids}tools`}
              label="Only these tools"
              example="get_*, calculate"
              value={tools}
              onChange={setTools}
            />
            <PatternField
              id={`${ids}models`}
              label="Only these models"
              example="mini:*"
              value={models}
              onChange={setModels}
            />
            <label htmlFor={`${ids}budget`} className="grid gap-1 text-sm font-medium">
              Budget
              <input
                id={`${ids}budget`}
                type="number"
                min={0}
                max={1_000_000_000}
                step="any"
                className="field font-normal"
                placeholder="no limit"
                value={budget}
                onChange={(event) => setBudget(event.target.value)}
              />
            </label>
            <div className="grid gap-1 text-sm font-medium">
              <span aria-hidden="true">Budget per</span>
              <Choice label="Budget per" value={per} options={BUDGET_PERIODS} onChange={setPer} />
            </div>
          </div>
          <fieldset>
            <legend className="text-sm font-medium">Scopes</legend>
            <div className="mt-1 flex flex-wrap gap-x-5 gap-y-2 text-sm">
              {scopes.map((scope) => (
                <label key={scope} className="inline-flex min-h-6 items-center gap-2">
                  <input
                    type="checkbox"
                    className="size-4 accent-accent"
                    checked={!left.has(scope) && !lacking.has(scope)}
                    disabled={lacking.has(scope)}
                    onChange={() => toggle(scope)}
                  />
                  {scope}
                </label>
              ))}
            </div>
          </fieldset>
        </>
      )}
      {make.error && (
        <Note tone="bad" role="alert">
          {make.error.message}
        </Note>
      )}
      <Button
        type="submit"
        look="main"
        className="justify-self-start"
        disabled={name.trim() === '' || given.length === 0 || make.isPending}
      >
        {make.isPending ? 'Creating …' : isFirst ? 'Create the first key' : 'Create key'}
      </Button>
    </form>
  )
}

/** Patterns separated by commas or spaces. */
const listOf = (text: string): string[] => text.split(/[\s,]+/).filter((pattern) => pattern !== '')

interface PatternFieldProps {
  readonly id: string
  readonly label: string
  readonly example: string
  readonly value: string
  readonly onChange: (value: string) => void
}

const PatternField = ({ id, label, example, value, onChange }: PatternFieldProps) => (
  <label htmlFor={id} className="grid gap-1 text-sm font-medium">
    {label}
    <input
      id={id}
      className="field font-normal"
      placeholder={`all, or for example ${example}`}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  </label>
)
