import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import type { FileCase } from '../../../../src/validation/suites/suite.ts'
import { suitesQuery } from '../../api/queries.ts'
import { request, requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { count } from '../../parts/figures.ts'
import { Empty, Failed, Loading, Note } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { usePageTitle } from '../../parts/use-page-title.ts'
import { readCase } from './read-case.ts'

interface Suite {
  readonly name: string
  readonly cases: readonly FileCase[]
}

const addressOf = (name: string): string => `/api/suites/saved/${encodeURIComponent(name)}`

/** A saved suite: its cases can be edited and removed. */
export function SavedSuitePage({ name }: { readonly name: string }) {
  usePageTitle(name)
  const [params] = useSearchParams()
  const { data, error, refetch } = useQuery({
    queryKey: ['saved', name],
    queryFn: ({ signal }) => requestJson<Suite>(addressOf(name), { signal }),
  })
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm wrap-anywhere">
        <Link href="/models" className="text-accent underline underline-offset-2">
          Models
        </Link>
        <span className="text-muted"> / suite {name}</span>
      </nav>
      <h1 className="mt-2 text-2xl font-semibold tracking-tight wrap-anywhere">{name}</h1>
      {data === undefined && error && <Failed error={error} what="the suite" again={() => void refetch()} />}
      {data === undefined && !error && <Loading what="the suite" />}
      {data !== undefined && (
        <>
          <p className="mt-1 text-sm text-muted">
            {count(data.cases.length, 'test')}.{' '}
            {data.cases.length > 0 && (
              <Link
                href={`/models?suite=${encodeURIComponent(`saved/${name}`)}`}
                className="text-accent underline underline-offset-2"
              >
                Run the suite
              </Link>
            )}
          </p>
          {data.cases.length === 0 && (
            <Empty title="No tests" action={{ label: 'Open the calls', href: '/activity/calls' }}>
              Save one from a call or a run.
            </Empty>
          )}
          <ul aria-label="Tests" className="mt-4 grid grid-cols-1 gap-3">
            {data.cases.map((one) => (
              <li key={one.id}>
                <Case suite={name} one={one} open={one.id === params.get('case')} last={data.cases.length === 1} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

interface CaseProps {
  readonly suite: string
  readonly one: FileCase
  readonly open: boolean
  /** Whether the suite has no other. */
  readonly last: boolean
}

function Case({ suite, one, open, last }: CaseProps) {
  const client = useQueryClient()
  const [, goTo] = useLocation()
  const [editing, setEditing] = useState(open)
  const [closed, setClosed] = useState(false)
  const address = `${addressOf(suite)}/cases/${encodeURIComponent(one.id ?? '')}`
  const done = () =>
    Promise.all([['saved', suite], suitesQuery.queryKey].map((queryKey) => client.invalidateQueries({ queryKey })))
  const restore = async () => {
    try {
      await requestJson(`${addressOf(suite)}/cases`, { method: 'POST', body: { case: one } })
      await done()
      if (last) goTo(`/models/suites/${encodeURIComponent(suite)}`)
    } catch (error) {
      toast({ text: `The test could not be restored. ${(error as Error).message}` })
    }
  }
  const remove = useMutation({
    mutationFn: () => request(address, { method: 'DELETE' }),
    onSuccess: async () => {
      toast({ text: `Removed the test ${one.id}`, undo: () => void restore() })
      if (!last) return done()
      // The suite is gone with its last case.
      await client.invalidateQueries({ queryKey: suitesQuery.queryKey })
      goTo('/models')
      client.removeQueries({ queryKey: ['saved', suite] })
    },
  })
  const close = () => {
    setClosed(true)
    setEditing(false)
  }
  const calls = one.expect.calls?.map(({ tool }) => tool).join(', ')
  return (
    <article aria-label={`Test ${one.id}`} className="panel min-w-0 p-4">
      <div className="flex flex-wrap items-start gap-2">
        <div className="mr-auto min-w-0">
          <h2 className="font-medium wrap-anywhere">{one.query}</h2>
          <p className="mt-0.5 text-sm text-muted wrap-anywhere">
            {one.id}: {calls === undefined ? 'expects no call' : `expects ${calls}`}
          </p>
        </div>
        {!editing && (
          <Button autoFocus={closed} onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
        <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          Remove
        </Button>
      </div>
      {remove.error && <Note tone="bad">{remove.error.message}</Note>}
      {editing && <Editor address={address} one={one} onSaved={done} onClose={close} />}
    </article>
  )
}

interface EditorProps {
  readonly address: string
  readonly one: FileCase
  readonly onSaved: () => Promise<unknown>
  readonly onClose: () => void
}

function Editor({ address, one, onSaved, onClose }: EditorProps) {
  const { query, expect, ...rest } = one
  const [texts, setTexts] = useState({
    query,
    expect: JSON.stringify(expect, null, 2),
    rest: JSON.stringify(rest, null, 2),
  })
  const read = readCase(texts)
  const save = useMutation({
    mutationFn: (body: FileCase) => requestJson(address, { method: 'PUT', body }),
    onSuccess: async () => {
      await onSaved()
      toast({ text: `Saved the test ${one.id}` })
      onClose()
    },
  })
  const area = (name: keyof typeof texts, label: string, rows: number) => (
    <label className="block text-sm font-medium">
      {label}
      <textarea
        className={`field mt-1 ${name === 'query' ? '' : 'font-mono text-[0.8125rem]'}`}
        rows={rows}
        spellCheck={name === 'query'}
        value={texts[name]}
        onChange={({ target }) => setTexts((before) => ({ ...before, [name]: target.value }))}
      />
    </label>
  )
  return (
    <form
      className="mt-3 grid grid-cols-1 gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (read.value !== undefined) save.mutate(read.value)
      }}
    >
      {area('query', 'What the user asks', 2)}
      {area('expect', 'Expected, as JSON', Math.min(16, texts.expect.split('\n').length))}
      <details>
        <summary className="text-sm font-medium">Tools, their mock results and messages before</summary>
        {area('rest', 'The rest of the case, as JSON', Math.min(24, texts.rest.split('\n').length))}
      </details>
      {(read.problem ?? save.error?.message) !== undefined && (
        <Note tone="bad" role="alert">
          {read.problem ?? save.error?.message}
        </Note>
      )}
      <div className="flex gap-2">
        <Button look="main" type="submit" disabled={read.value === undefined || save.isPending}>
          Save
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  )
}
