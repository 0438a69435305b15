import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { ShownKey } from '../../../src/operations/key-rules.ts'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { inDate } from '../parts/figures.ts'
import { Code } from '../parts/section.tsx'
import { Note } from '../parts/states.tsx'
import { type MadeKey, rolesQuery } from './setting-queries.ts'

const DAY_MS = 24 * 60 * 60_000
const EXPIRIES = [
  { value: 'never', label: 'never expires' },
  { value: '30', label: 'for 30 days' },
  { value: '90', label: 'for 90 days' },
  { value: '365', label: 'for a year' },
]

const BUDGET_PERIODS = [
  { value: 'day', label: 'a day' },
  { value: 'month', label: 'a month' },
]

interface KeyFormProps {
  /** The key to change. Default: a new key. */
  readonly edited?: ShownKey
  readonly onMade?: (made: MadeKey) => void
  /** When the key is changed, or stays as it is. */
  readonly onDone?: () => void
  /** The first key has all rights, and the server signs this browser in with it. */
  readonly isFirst?: boolean
}

const KEPT = 'kept'

/** Creates a key, or changes one. */
export function KeyForm({ edited, onMade, onDone, isFirst = false }: KeyFormProps) {
  const ids = useId()
  const client = useQueryClient()
  const { data: session } = useQuery(sessionQuery)
  const { data: known } = useQuery(rolesQuery)
  const [name, setName] = useState(edited?.name ?? '')
  const [chosen, setRole] = useState(edited?.role)
  const [days, setDays] = useState(edited?.expires_at ? KEPT : 'never')
  const [calls, setCalls] = useState(String(edited?.calls_per_minute ?? ''))
  const [budget, setBudget] = useState(String(edited?.budget?.amount ?? ''))
  const [per, setPer] = useState<string>(edited?.budget?.per ?? 'month')
  const [tools, setTools] = useState(edited?.tools?.join(', ') ?? '')
  const [models, setModels] = useState(edited?.models?.join(', ') ?? '')
  const [chosenScopes, setScopes] = useState<ReadonlySet<string> | undefined>(
    edited?.scopes ? new Set(edited.scopes) : undefined,
  )
  const [touched, setTouched] = useState(false)
  const { data: { currency } = {} } = useQuery(sessionQuery)
  const role = isFirst ? 'admin' : (chosen ?? 'user')
  const scopes = known?.roles.find((one) => one.name === role)?.scopes ?? []
  const expiries = edited?.expires_at
    ? [{ value: KEPT, label: `until ${inDate(edited.expires_at)}` }, ...EXPIRIES]
    : EXPIRIES
  // A key can't grant scopes that it doesn't have.
  const lacking = new Set<string>(scopes.filter((scope) => session?.scopes.includes(scope) !== true))
  const isGiven = (scope: string) => !lacking.has(scope) && (chosenScopes?.has(scope) ?? true)
  const given = scopes.filter(isGiven)
  const save = useMutation({
    mutationFn: async () => {
      const expires = { never: null, [KEPT]: edited?.expires_at ?? null }[days]
      const fields = {
        scopes: given.length < scopes.length ? given : null,
        tools: listOf(tools),
        models: listOf(models),
        calls_per_minute: calls === '' ? null : Number(calls),
        budget: budget === '' ? null : { ...edited?.budget, amount: Number(budget), per },
        expires_at: expires === undefined ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : expires,
      }
      // The scopes of the key may include `installation`, which only the command line can give.
      const isUntouched = edited !== undefined && role === edited.role && !touched
      const body = { name: name.trim(), role, ...fields, ...(isUntouched && { scopes: edited.scopes }) }
      if (edited === undefined) onMade?.(await requestJson<MadeKey>('/api/keys', { method: 'POST', body: set(body) }))
      else {
        await requestJson(`/api/keys/${encodeURIComponent(edited.id)}`, {
          method: 'PATCH',
          body: changed(body, edited),
        })
      }
    },
    onSuccess: async () => {
      setName('')
      setCalls('')
      setBudget('')
      setTools('')
      setModels('')
      setRole(undefined)
      setScopes(undefined)
      onDone?.()
      await client.invalidateQueries({
        // The first key changes what the server stores by default.
        predicate: ({ queryKey }) => ['session', 'keys', 'tenants', 'setup'].includes(String(queryKey[0])),
      })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== '' && given.length > 0) save.mutate()
  }
  const toggle = (scope: string) => {
    setTouched(true)
    setScopes((before) => {
      const next = new Set(before ?? given)
      if (!next.delete(scope)) next.add(scope)
      return next
    })
  }
  return (
    <form
      onSubmit={submit}
      aria-label={edited === undefined ? 'Create a key' : `Edit ${edited.name}`}
      className={`grid grid-cols-1 gap-3 ${edited === undefined ? 'panel p-4' : 'py-2'}`}
    >
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
                  setScopes(undefined)
                }}
              />
            </div>
            <div className="grid gap-1 text-sm font-medium">
              <span aria-hidden="true">Valid</span>
              <Choice label="Valid" value={days} options={expiries} onChange={setDays} />
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
          rights after it. Once there is a key, the server stores no parameters and results of calls unless{' '}
          <Code>storage.payloads</Code> is set, and Testing no longer lists the threads that were made without a key.
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
              Budget{currency === undefined ? '' : ` in ${currency}`}
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
                    checked={isGiven(scope)}
                    disabled={lacking.has(scope)}
                    onChange={() => toggle(scope)}
                  />
                  {scope}
                </label>
              ))}
            </div>
            {edited?.scopes?.includes('installation') && (
              <p className="mt-1 text-sm text-muted">
                The key also has the scope installation. It loses that if you change its role or scopes; only the
                command line can grant it.
              </p>
            )}
          </fieldset>
        </>
      )}
      {save.error && (
        <Note tone="bad" role="alert">
          {save.error.message}
        </Note>
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="main" disabled={name.trim() === '' || given.length === 0 || save.isPending}>
          {save.isPending ? 'Saving …' : edited ? 'Save' : isFirst ? 'Create the first key' : 'Create key'}
        </Button>
        {edited && <Button onClick={onDone}>Cancel</Button>}
      </div>
    </form>
  )
}

/** Patterns separated by commas or spaces; null: no restriction. */
export function listOf(text: string): string[] | null {
  const patterns = text.split(/[\s,]+/).filter((pattern) => pattern !== '')
  return patterns.length === 0 ? null : patterns
}

const set = (body: object) => Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

/** The fields that differ. The order of scopes and patterns doesn't matter. */
function changed(body: Readonly<Record<string, unknown>>, before: ShownKey): object {
  const old: Readonly<Record<string, unknown>> = { ...before }
  const text = (value: unknown) => JSON.stringify(Array.isArray(value) ? value.toSorted() : (value ?? null))
  const fields = Object.entries(body).filter(([field, value]) => text(value) !== text(old[field]))
  return fields.length === 0 ? { name: body.name } : Object.fromEntries(fields)
}

interface PatternFieldProps {
  readonly id: string
  readonly label: string
  readonly example: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export const PatternField = ({ id, label, example, value, onChange }: PatternFieldProps) => (
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
