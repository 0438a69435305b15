import { useQueries, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { modelsQuery, sessionQuery, toolQuery, toolsQuery, useMay } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { Empty, Failed, Loading, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { askProblem, lastModel } from './ask-problem.ts'
import { AvailableTools } from './available-tools.tsx'
import { exampleOf, fittingExamples, ownTools } from './examples.ts'
import { ModelChoices } from './model-choices.tsx'
import { ThreadList, threadAddress } from './thread-list.tsx'
import { threadStore, useThreads } from './thread-store.ts'
import { sendsOn, ThreadView } from './thread-view.tsx'
import { DEFAULT_SETTINGS, isRunning, MAX_TURNS, mockProblem, type Thread, titleOf } from './threads.ts'

const MOST_MODELS = 3

/** Tests models in conversations that use the tools. */
export function TestingPage({ thread: id }: { readonly thread?: string | undefined }) {
  const { data: session } = useQuery(sessionQuery)
  if (session !== undefined) threadStore().belongTo(`${session.tenant ?? ''}/${session.name ?? ''}`)
  const threads = useThreads()
  const thread = threads.find((one) => one.id === id)
  usePageTitle(thread === undefined ? 'Testing' : titleOf(thread))
  const mayChat = useMay('chat')
  const mayRead = session !== undefined && mayChat
  useEffect(() => {
    if (mayRead) void threadStore().sync()
  }, [mayRead])
  // Another browser may have made the thread.
  const [looked, setLooked] = useState<string>()
  const isHere = thread !== undefined && thread.questions === undefined
  useEffect(() => {
    if (id !== undefined && mayRead && !isHere)
      void threadStore()
        .load(id)
        .then(() => setLooked(id))
  }, [id, mayRead, isHere])
  const isComing = id !== undefined && !isHere && looked !== id && (session === undefined || mayChat)
  const [, navigate] = useLocation()
  const open = (next?: string) => navigate(next === undefined ? '/tools-testing' : threadAddress(next))
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">Testing</h1>
      <p className="mt-1 text-muted">
        Find out which models can use your tools: ask, watch the calls, and record the result.
      </p>
      {/* A thread that was loaded sets the models and tools. */}
      <Conversation key={isComing ? 'coming' : 'here'} id={id} thread={thread} isComing={isComing} open={open} />
    </>
  )
}

interface ConversationProps {
  readonly id: string | undefined
  readonly thread: Thread | undefined
  /** The thread is read from the server. */
  readonly isComing: boolean
  readonly open: (id?: string) => void
}

function Conversation({ id, thread, isComing, open }: ConversationProps) {
  const models = useQuery(modelsQuery)
  const { data: session } = useQuery(sessionQuery)
  const mayChat = useMay('chat')
  const [, navigate] = useLocation()
  // Values from the URL.
  const search = useSearch()
  const [given, setGiven] = useState({ search, values: new URLSearchParams(search) })
  const run = given.values.get('run')
  const [query, setQuery] = useState(given.values.get('query') ?? '')
  const [settings, setSettings] = useState(
    thread?.settings ?? { ...DEFAULT_SETTINGS, models: [given.values.get('model')] },
  )
  const [problem, setProblem] = useState<readonly string[]>()
  /** The question was sent before the page knew the models. */
  const [isEarly, setEarly] = useState(false)
  const [shown, setShown] = useState(id)
  const field = useRef<HTMLTextAreaElement>(null)
  if (shown !== id) {
    setShown(id)
    setProblem(undefined)
    setSettings(thread?.settings ?? { ...settings, models: [settings.models[0] ?? null] })
  }
  // The palette has chosen a model while the page was open.
  if (search !== '' && search !== given.search) {
    const values = new URLSearchParams(search)
    setGiven({ search, values })
    setQuery(values.get('query') ?? query)
    setSettings({ ...settings, models: [values.get('model') ?? settings.models[0] ?? null] })
  }
  // Preselect the only available model, or that of the last thread.
  const usable = models.data?.filter(({ reason }) => reason === undefined)
  const threads = useThreads()
  const ids = new Set(usable?.map((model) => model.id))
  const usual = usable?.length === 1 ? (usable[0]?.id ?? null) : lastModel(threads, ids)
  const unusable = new Set(models.data?.filter((model) => !usable?.includes(model)).map((model) => model.id))
  const chosen = settings.models.map(
    (model, index) => (unusable.has(model ?? '') ? null : model) ?? (index === 0 ? usual : null),
  )
  const running = thread !== undefined && isRunning(thread)
  useEffect(() => {
    // Not on touch screens, where it would open the keyboard.
    if (matchMedia('(hover: hover)').matches && document.activeElement?.closest('main, dialog') == null) {
      field.current?.focus({ preventScroll: true })
    }
  }, [])

  const ask = (text: string, at?: number): boolean => {
    const isFull = (at ?? thread?.turns.length ?? 0) >= MAX_TURNS
    const full = isFull ? `A thread has at most ${MAX_TURNS} questions. Start a new one.` : undefined
    const more = mockProblem(settings.mocks) ?? full
    const found = askProblem(text, chosen) ?? (more === undefined ? undefined : [more])
    setProblem(found)
    if (found !== undefined || !mayChat) return false
    const asked = threadStore().ask(thread?.id, { ...settings, models: chosen }, text.trim(), at)
    if (asked !== id) navigate(threadAddress(asked), { state: { stay: true } })
    return true
  }
  const isReady = session !== undefined && models.data !== undefined
  const send = () => {
    setEarly(!isReady && query.trim() !== '')
    if (isReady && !running && ask(query)) setQuery('')
  }
  useEffect(() => {
    if (isEarly && isReady) send()
  })
  const edit = (text: string, at: number) => {
    const last = thread
    field.current?.focus({ preventScroll: true })
    if (ask(text, at) && last !== undefined && at < last.turns.length) {
      toast({ text: 'The answers after the question were replaced', undo: () => threadStore().restore(last) })
    }
  }
  const branch = (at: number) => {
    const next = thread && threadStore().branch(thread.id, at)
    if (next === undefined) return
    navigate(threadAddress(next), { state: { stay: true } })
    field.current?.focus({ preventScroll: true })
    toast({ text: 'This is a branch. The thread that it comes from is unchanged.' })
  }
  const isEmpty = thread === undefined || thread.turns.length === 0
  const lost = id !== undefined && thread === undefined && !isComing
  return (
    <div className="mt-4 grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem] xl:grid-cols-[14rem_minmax(0,1fr)_20rem]">
      <div className="flex min-w-0 flex-col gap-4 xl:order-1 max-xl:lg:col-start-1 max-xl:lg:row-span-2 max-xl:lg:row-start-1">
        <section aria-labelledby="results" className={isEmpty ? 'order-1 min-w-0' : 'min-w-0'}>
          <h2 id="results" className={isEmpty ? 'font-semibold' : 'sr-only'}>
            Test Results
          </h2>
          {thread !== undefined && !isEmpty && (
            <ThreadView
              thread={thread}
              models={models.data ?? []}
              before={run === null ? undefined : { query: given.values.get('query'), run }}
              ask={edit}
              branch={branch}
            />
          )}
          {isComing && <Loading what="the thread" />}
          {isEmpty && !lost && !isComing && (
            <p className="mt-1 text-sm text-muted">Ask something to see the answer and the calls here.</p>
          )}
          {lost && (
            <Empty title="Thread not found">
              <p>It was deleted, it is another user’s, or it is only in the browser that made it.</p>
              <p>To show somebody an answer, share the link of its run.</p>
              <Button className="mt-3" onClick={() => open()}>
                New thread
              </Button>
            </Empty>
          )}
        </section>
        <section
          aria-labelledby="test"
          className={`panel min-w-0 p-3 ${isEmpty ? '' : 'sticky bottom-2 z-20 shadow-lg lg:bottom-3'}`}
        >
          <h2 id="test" className={isEmpty ? 'font-semibold' : 'sr-only'}>
            Test Tool Calling
          </h2>
          <div className={`grid grid-cols-1 gap-3 ${isEmpty ? 'mt-2' : ''}`}>
            {models.data === undefined ? (
              models.error ? (
                <Failed error={models.error} what="the models" again={() => void models.refetch()} />
              ) : (
                <Loading what="the models" />
              )
            ) : (
              <ModelChoices
                models={models.data}
                chosen={chosen}
                onChange={(next) => setSettings({ ...settings, models: next })}
                most={MOST_MODELS}
                compact={!isEmpty}
              />
            )}
            {run !== null && isEmpty && (
              <Note>
                This is the query of{' '}
                <Link href={`/runs/${run}`} className="underline">
                  a run
                </Link>
                . Run Test asks it again, with the same or another model, runs the tools, and compares the calls.
              </Note>
            )}
            {problem !== undefined && (
              <Note tone="bad" role="alert">
                {problem.map((sentence) => (
                  <p key={sentence}>{sentence}</p>
                ))}
              </Note>
            )}
            <div className="flex flex-wrap items-end gap-2">
              <div className="min-w-48 flex-1">
                <label htmlFor="query" className={isEmpty ? 'block text-sm font-medium' : 'sr-only'}>
                  Test Query
                </label>
                <textarea
                  id="query"
                  ref={field}
                  rows={isEmpty ? 3 : 1}
                  className={`field mt-1 field-sizing-content max-h-60 resize-y ${isEmpty ? 'min-h-20' : 'min-h-10'}`}
                  placeholder={isEmpty ? 'Ask something that needs a tool' : 'Ask a follow-up'}
                  value={query}
                  onChange={(event) => {
                    setQuery(event.target.value)
                    setEarly(false)
                  }}
                  onKeyDown={(event) => {
                    if (!sendsOn(event)) return
                    event.preventDefault()
                    send()
                  }}
                />
              </div>
              {running ? (
                <Button look="danger" className="min-h-10" onClick={() => thread && threadStore().stop(thread.id)}>
                  Stop
                </Button>
              ) : (
                <Button look="main" className="min-h-10" disabled={isReady && !mayChat} onClick={send}>
                  Run Test
                </Button>
              )}
            </div>
            {isEarly && <Note role="status">The question is sent as soon as the models are loaded.</Note>}
            {mayChat || session === undefined || <span className="text-sm text-muted">Your key can’t ask models.</span>}
          </div>
        </section>
        {isEmpty && (
          <Examples
            choose={(example) => {
              setQuery(example)
              setProblem(undefined)
              field.current?.focus()
            }}
          />
        )}
      </div>
      <div className="min-w-0 max-xl:lg:col-start-2 max-xl:lg:row-start-1 xl:sticky xl:top-16">
        <ThreadList
          current={id}
          open={(next) => {
            open(next)
            if (next === undefined) field.current?.focus()
          }}
        />
      </div>
      <div className="min-w-0 max-xl:lg:col-start-2 max-xl:lg:row-start-2 xl:sticky xl:top-16 xl:order-2">
        <AvailableTools settings={settings} onChange={setSettings} />
      </div>
    </div>
  )
}

/** Questions that the tools of this installation can answer. */
function Examples({ choose }: { readonly choose: (query: string) => void }) {
  const { data: tools = [] } = useQuery(toolsQuery)
  const own = useQueries({ queries: ownTools(tools).map(({ name }) => toolQuery(name)) })
  const made = own.flatMap(({ data }) => (data === undefined ? [] : [exampleOf(data)]))
  return (
    <section aria-labelledby="examples" className="min-w-0">
      <h2 id="examples" className="font-semibold">
        Example Test Queries
      </h2>
      <ul className="mt-2 grid gap-2 sm:grid-cols-2">
        {[...fittingExamples(tools), ...made].map(({ title, query: example, expected }) => (
          <li key={title}>
            <button
              type="button"
              className="panel flex h-full w-full flex-col p-3 text-left hover:border-edge"
              onClick={() => choose(example)}
            >
              <span className="block text-sm font-medium wrap-anywhere">{title}</span>
              <span className="mt-0.5 block text-sm wrap-anywhere">“{example}”</span>
              <span className="mt-1 block text-xs wrap-anywhere text-muted">Expected: {expected}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
