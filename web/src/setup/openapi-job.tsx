import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { count, inNumber } from '../parts/figures.ts'
import { ownValue } from '../parts/own-value.ts'
import { BreakableName } from '../parts/section.tsx'
import { Chip, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { BoxList } from '../parts/virtual-list.tsx'
import { ChangePanel } from './change-panel.tsx'
import { DropZone } from './drop-zone.tsx'
import { TextField } from './field.tsx'
import { JobFrame, type JobProps } from './job-frame.tsx'
import { KeyField } from './key-field.tsx'
import { type KeySource, keyChange, sourceFor, sourceProblem } from './key-source.ts'
import {
  type Chosen,
  chosenNames,
  type Operation,
  operationIndex,
  toggled,
  withoutShown,
  withShown,
} from './operation-choice.ts'
import { sentence } from './sentence.ts'
import { useChange } from './use-change.ts'
import { writtenToast } from './written-toast.ts'

interface Credential {
  readonly variable: string
  readonly hosts: readonly string[]
}

interface ReadDocument {
  readonly title: string
  readonly operations: readonly Operation[]
  readonly credentials: readonly Credential[]
  readonly notes: readonly string[]
}

type Source = { readonly url: string } | { readonly document: string; readonly file: string }

const MOST_BYTES = 8_000_000
const ROW_PX = 60

const bodyOf = (source: Source) => ('url' in source ? source : { document: source.document })

/** Makes tools of an OpenAPI document: load it, choose operations, write. */
export function OpenapiJob({ setup }: JobProps) {
  const [, goTo] = useLocation()
  const [url, setUrl] = useState('')
  const [problem, setProblem] = useState<string>()
  const [chosen, setChosen] = useState<Chosen>(new Set())
  const [allowed, setAllowed] = useState<readonly string[]>([])
  const [keys, setKeys] = useState<Readonly<Record<string, KeySource>>>({})
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const read = useMutation({
    mutationFn: (source: Source) =>
      requestJson<ReadDocument>('/api/setup/openapi', { method: 'POST', body: bodyOf(source) }),
    gcTime: 0,
    onMutate: () => setProblem(undefined),
    onSuccess: ({ credentials }) => {
      choose(new Set())
      setValues({})
      setKeys(Object.fromEntries(credentials.map(({ variable }) => [variable, sourceFor(variable, setup.secrets)])))
    },
  })
  // Other operations may have other hosts.
  const choose = (next: Chosen) => {
    setChosen(next)
    setAllowed([])
  }
  const load = (event: FormEvent) => {
    event.preventDefault()
    if (/^https?:\/\/\S+$/i.test(url.trim())) read.mutate({ url: url.trim() })
    else setProblem('The URL starts with https:// or http://.')
  }
  const take = async ([file]: readonly File[]) => {
    if (file === undefined) return
    if (file.size > MOST_BYTES) setProblem(`${file.name} is larger than ${MOST_BYTES / 1_000_000} MB.`)
    else read.mutate({ document: await file.text(), file: file.name })
  }
  const document = read.data
  const names = document === undefined ? [] : chosenNames(document.operations, chosen)
  const keyProblem = Object.entries(keys).find(([usual, key]) => sourceProblem(key, setup, usual) !== undefined)
  const changeWith = (secrets: Readonly<Record<string, string>>) => {
    const credentials = Object.entries(keys).map(([variable, key]) => [
      variable,
      keyChange(key, ownValue(secrets, variable)),
    ])
    return {
      kind: 'openapi',
      ...bodyOf(read.variables as Source),
      operations: names,
      ...(allowed.length > 0 && { allow_private: allowed }),
      ...(credentials.length > 0 && { credentials: Object.fromEntries(credentials) }),
    } as const
  }
  const ready = names.length > 0 && keyProblem === undefined
  const change = useChange(ready ? changeWith({}) : undefined, (view) => {
    setValues({})
    const [first = ''] = names
    const text = names.length === 1 ? `Added the tool ${first}.` : `Added ${count(names.length, 'tool')}.`
    toast(writtenToast(text, view, { label: `Open ${first}`, href: `/tool/${encodeURIComponent(first)}` }))
    goTo('/')
  })
  // The chosen operations may need none of the keys.
  const needed = new Set(change.view?.secrets.map(({ name }) => name))
  const lacking = Object.entries(keys).some(
    ([variable, { from, secret }]) =>
      from === 'secret' && needed.has(secret) && (ownValue(values, variable) ?? '') === '',
  )
  return (
    <JobFrame
      form={
        <>
          <form onSubmit={load} aria-label="Load from a URL" className="flex items-end gap-2">
            <TextField
              label="URL of the document"
              className="flex-1"
              mono
              placeholder="https://api.example.com/openapi.json"
              value={url}
              onChange={setUrl}
            />
            <Button type="submit" className="min-h-[2.375rem]" disabled={url.trim() === '' || read.isPending}>
              {read.isPending ? 'Loading …' : 'Load'}
            </Button>
          </form>
          <DropZone
            label="Choose a file"
            hint="Or drop an OpenAPI or Swagger file here: JSON or YAML, up to 8 MB."
            accept=".json,.yaml,.yml"
            onFiles={(files) => void take(files)}
          />
          {(problem !== undefined || read.error) && (
            <Note tone="bad" role="alert">
              {problem ?? read.error?.message}
            </Note>
          )}
          {document !== undefined && (
            <>
              <Operations document={document} chosen={chosen} onChange={choose} />
              {document.credentials.map(({ variable, hosts }) => (
                <KeyField
                  key={variable}
                  legend={`Key for ${hosts.join(', ')}`}
                  setup={setup}
                  usual={variable}
                  source={ownValue(keys, variable) ?? sourceFor(variable, setup.secrets)}
                  onSource={(key) => setKeys((before) => ({ ...before, [variable]: key }))}
                  value={ownValue(values, variable) ?? ''}
                  onValue={(value) => setValues((before) => ({ ...before, [variable]: value }))}
                />
              ))}
            </>
          )}
        </>
      }
      change={
        <ChangePanel
          setup={setup}
          change={change}
          missing={
            document === undefined
              ? 'Load a document to see the change.'
              : names.length === 0
                ? 'Choose the operations that become tools.'
                : 'Check the names of the keys.'
          }
          blocked={lacking ? 'Enter the key, or name a variable.' : undefined}
          hosts={{ allowed, onChange: setAllowed }}
          onWrite={() => change.write(changeWith(values))}
        />
      }
    />
  )
}

interface OperationsProps {
  readonly document: ReadDocument
  readonly chosen: Chosen
  readonly onChange: (chosen: Chosen) => void
}

function Operations({ document, chosen, onChange }: OperationsProps) {
  const { title, operations, notes } = document
  const [filter, setFilter] = useState('')
  const index = useMemo(() => operationIndex(operations), [operations])
  const asked = useDeferredValue(filter)
  const shown = useMemo(() => index.find(asked), [index, asked])
  const possible = operations.filter((one) => one.problem === undefined).length
  return (
    <section aria-label="Operations" className="grid grid-cols-1 gap-3 border-t border-line pt-4">
      <div className="flex flex-wrap items-baseline gap-x-2">
        <h2 className="font-semibold wrap-anywhere">{title}</h2>
        <p role="status" className="text-sm text-muted">
          {inNumber(chosen.size)} of {count(possible, 'operation')} chosen
        </p>
      </div>
      {notes.map((note) => (
        <Note key={note}>{sentence(note)}</Note>
      ))}
      <input
        type="search"
        aria-label="Filter operations"
        placeholder="Filter by name, path or summary"
        className="field"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => onChange(withShown(chosen, shown, true))}>Select all reads</Button>
        <Button onClick={() => onChange(withShown(chosen, shown, false))}>Select all</Button>
        <Button look="quiet" disabled={chosen.size === 0} onClick={() => onChange(withoutShown(chosen, shown))}>
          Clear
        </Button>
      </div>
      {shown.length === 0 ? (
        <p className="text-sm text-muted">No operations match.</p>
      ) : (
        <BoxList
          items={shown}
          keyOf={({ name, method, path }) => `${name} ${method} ${path}`}
          rowPx={ROW_PX}
          label="List of operations"
          boxClassName="max-h-[24rem] rounded-lg border border-line"
          rowClassName="border-line not-first:border-t"
          row={(one) => (
            <OperationRow
              operation={one}
              chosen={chosen.has(one.name)}
              onToggle={() => onChange(toggled(chosen, one.name))}
            />
          )}
        />
      )}
    </section>
  )
}

interface OperationRowProps {
  readonly operation: Operation
  readonly chosen: boolean
  readonly onToggle: () => void
}

const OperationRow = ({ operation, chosen, onToggle }: OperationRowProps) => {
  const { name, method, path, summary, effect, deprecated, problem } = operation
  // Operations without one have their method and path instead.
  const hasSummary = summary !== '' && !/^[A-Z]+ \/\S*$/.test(summary)
  return (
    <label className="flex items-start gap-2.5 px-3 py-2 text-sm hover:bg-sunk">
      <input
        type="checkbox"
        className="mt-0.5 size-4 shrink-0 accent-accent"
        checked={chosen}
        disabled={problem !== undefined}
        onChange={onToggle}
      />
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          <span className="font-mono text-[0.8125rem] font-medium">
            <BreakableName name={name} />
          </span>
          {effect !== null && <Chip tone={effect === 'write' ? 'warn' : 'plain'}>{effect}</Chip>}
          {deprecated && <Chip tone="warn">deprecated</Chip>}
        </span>
        <span className="block font-mono text-xs wrap-anywhere text-muted">
          {method.toUpperCase()} {path}
        </span>
        {hasSummary && <span className="line-clamp-2 wrap-anywhere text-muted">{summary}</span>}
        {problem !== undefined && <span className="block wrap-anywhere text-bad">{problem}</span>}
      </span>
    </label>
  )
}
