import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { toolsQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { count, inBytes } from '../parts/figures.ts'
import { CrossIcon } from '../parts/icons.tsx'
import { Code } from '../parts/section.tsx'
import { Chip, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { ChangePanel } from './change-panel.tsx'
import { DropZone } from './drop-zone.tsx'
import { TextField } from './field.tsx'
import { JobFrame, type JobProps } from './job-frame.tsx'
import {
  collectionProblem,
  MOST_BYTES,
  nextUpload,
  totals,
  type Upload,
  withFiles,
  withoutUpload,
  withUpload,
} from './uploads.ts'
import { useChange } from './use-change.ts'
import { writtenToast } from './written-toast.ts'

interface StoredDocument {
  readonly document_id: string
  readonly chunks: number
  readonly warnings: readonly string[]
}

/** The contents of a file, in base64. */
const base64 = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''))
    reader.onerror = () => reject(new Error('The browser could not read the file.'))
    reader.readAsDataURL(file)
  })

/** Adds a collection and stores files in it. */
export function KnowledgeJob({ setup }: JobProps) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [uploads, setUploads] = useState<readonly Upload[]>([])
  const [ready, setReady] = useState(false)
  const files = useRef(new Map<string, File>())
  const problem = collectionProblem(name)
  const { data: tools = [] } = useQuery(toolsQuery)
  const exists = tools.some((one) => one.name === `search_${name}`)
  const whole = {
    kind: 'collection',
    name,
    ...(description.trim() !== '' && { description: description.trim() }),
  } as const
  const tool = { label: `Open search_${name}`, href: `/tool/${encodeURIComponent(`search_${name}`)}` }
  const change = useChange(problem === undefined && !ready && !exists ? whole : undefined, (view) => {
    toast(writtenToast(`Added the tool search_${name}.`, view, tool))
    setReady(true)
  })
  useSending({ active: ready, collection: name, uploads, files: files.current, onChange: setUploads })
  const add = (added: readonly File[]) => {
    for (const file of added) files.current.set(file.name, file)
    setUploads((before) => withFiles(before, added))
  }
  const { waiting } = totals(uploads)
  return (
    <JobFrame
      form={
        <>
          <TextField
            label="Name of the collection"
            mono
            placeholder="manuals"
            hint={ready ? undefined : 'The tool that searches it is called search_ and this name.'}
            maxLength={57}
            value={name}
            problem={problem}
            disabled={ready}
            onChange={setName}
          />
          <TextField
            label="What it contains"
            placeholder="Manuals of our products, with warranty and repair"
            hint="Models read this to decide when to search it."
            maxLength={500}
            value={description}
            disabled={ready}
            onChange={setDescription}
          />
          <DropZone
            label="Choose files"
            hint="Drop files here: Markdown, text, HTML, PDF, JSON, CSV or source code, up to 8 MB each."
            multiple
            onFiles={add}
          />
          {uploads.length > 0 && (
            <Uploads
              uploads={uploads}
              onRemove={(one) => setUploads((before) => withoutUpload(before, one))}
              onRetry={(one) => setUploads((before) => withUpload(before, one, { state: 'waiting' }))}
            />
          )}
        </>
      }
      change={
        ready ? (
          <Stored name={name} uploads={uploads} href={tool.href} />
        ) : exists ? (
          <Existing name={name} waiting={waiting} onStart={() => setReady(true)} />
        ) : (
          <ChangePanel
            setup={setup}
            change={change}
            missing="Name the collection to see the change."
            action={`Write, reload and store ${count(waiting, 'file')}`}
            blocked={waiting === 0 ? 'Choose at least one file.' : undefined}
            onWrite={() => change.write(whole)}
          />
        )
      }
    />
  )
}

interface ExistingProps {
  readonly name: string
  readonly waiting: number
  readonly onStart: () => void
}

/** The collection has its tool already, so only files are added. */
const Existing = ({ name, waiting, onStart }: ExistingProps) => (
  <section aria-labelledby="existing" className="panel grid min-w-0 grid-cols-1 gap-3 p-4 lg:sticky lg:top-16">
    <h2 id="existing" className="text-lg font-semibold wrap-anywhere">
      Collection {name}
    </h2>
    <p className="text-sm">
      The tool <Code>search_{name}</Code> exists, so the configuration needs no change.
    </p>
    <div>
      <Button look="main" disabled={waiting === 0} onClick={onStart}>
        Store {count(waiting, 'file')}
      </Button>
    </div>
    {waiting === 0 && <p className="text-sm text-muted">Choose at least one file.</p>}
  </section>
)

interface SendingProps {
  readonly active: boolean
  readonly collection: string
  readonly uploads: readonly Upload[]
  readonly files: ReadonlyMap<string, File>
  readonly onChange: (change: (before: readonly Upload[]) => readonly Upload[]) => void
}

/** Sends one waiting file after another. */
function useSending({ active, collection, uploads, files, onChange }: SendingProps): void {
  const next = nextUpload(uploads)?.name
  const busy = uploads.some(({ state }) => state === 'sending')
  const leaving = useRef<AbortController>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    leaving.current = controller
    return () => controller.abort()
  }, [])
  useEffect(() => {
    const file = next === undefined ? undefined : files.get(next)
    const signal = leaving.current?.signal
    if (!active || busy || file === undefined || signal === undefined) return
    const set = (change: Partial<Upload>) => onChange((before) => withUpload(before, file.name, change))
    set({ state: 'sending' })
    const send = async () => {
      const body = { collection, name: file.name, content: await base64(file) }
      const { chunks, warnings } = await requestJson<StoredDocument>('/api/setup/documents', {
        method: 'POST',
        body,
        signal,
      })
      set({ state: 'stored', chunks, warnings })
    }
    send().catch((error: Error) => {
      if (!signal.aborted) set({ state: 'failed', problem: error.message })
    })
  }, [active, busy, next, collection, files, onChange])
}

interface UploadsProps {
  readonly uploads: readonly Upload[]
  readonly onRemove: (name: string) => void
  readonly onRetry: (name: string) => void
}

const Uploads = ({ uploads, onRemove, onRetry }: UploadsProps) => (
  <ul aria-label="Files" className="divide-y divide-line rounded-lg border border-line">
    {uploads.map(({ name, size, state, chunks = 0, problem, warnings = [] }) => (
      <li key={name} className="grid gap-1 px-3 py-1.5 text-sm">
        <div className="flex min-h-9 flex-wrap items-center gap-x-2">
          <span className="min-w-0 flex-1 basis-40 wrap-anywhere">
            {name} <span className="whitespace-nowrap text-muted">{inBytes(size)}</span>
          </span>
          {state === 'sending' && <span className="moving text-muted">storing …</span>}
          {state === 'stored' && <Chip tone="good">{count(chunks, 'chunk')}</Chip>}
          {state === 'failed' && <Chip tone="bad">failed</Chip>}
          {state === 'failed' && size > 0 && size <= MOST_BYTES && (
            <Button look="quiet" aria-label={`Try again: ${name}`} onClick={() => onRetry(name)}>
              Try again
            </Button>
          )}
          {(state === 'waiting' || state === 'failed') && (
            <Button look="quiet" aria-label={`Remove ${name}`} onClick={() => onRemove(name)}>
              <CrossIcon />
            </Button>
          )}
        </div>
        {state === 'failed' && <p className="pb-1 wrap-anywhere text-bad">{problem}</p>}
        {warnings.map((warning) => (
          <p key={warning} className="pb-1 wrap-anywhere text-warn">
            {warning}
          </p>
        ))}
      </li>
    ))}
  </ul>
)

interface StoredProps {
  readonly name: string
  readonly uploads: readonly Upload[]
  readonly href: string
}

/** How far the files are. */
function Stored({ name, uploads, href }: StoredProps) {
  const { waiting, sending, stored, failed } = totals(uploads)
  const ended = waiting + sending === 0
  return (
    <section aria-labelledby="stored" className="panel grid min-w-0 grid-cols-1 gap-3 p-4 lg:sticky lg:top-16">
      <h2 id="stored" className="text-lg font-semibold wrap-anywhere">
        Collection {name}
      </h2>
      <div
        role="progressbar"
        aria-label="Stored files"
        aria-valuenow={stored + failed}
        aria-valuemin={0}
        aria-valuemax={uploads.length}
        className="h-2 overflow-hidden rounded-full bg-sunk"
      >
        <div
          className="h-full rounded-full bg-accent transition-[width] motion-reduce:transition-none"
          style={{ width: `${(100 * (stored + failed)) / Math.max(1, uploads.length)}%` }}
        />
      </div>
      <p role="status" className="text-sm">
        {stored} of {count(uploads.length, 'file')} stored{failed > 0 && `, ${failed} failed`}.
      </p>
      {!ended && <p className="text-sm text-muted">Stay on this page until all files are stored.</p>}
      {ended && stored > 0 && (
        <Note tone="good">
          <Code>search_{name}</Code> finds them now. You can add more files.
        </Note>
      )}
      <p className="text-sm">
        <Link href={href} className="text-accent underline underline-offset-2">
          Open search_{name}
        </Link>
      </p>
    </section>
  )
}
