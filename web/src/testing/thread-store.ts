import { useSyncExternalStore } from 'react'
import type { ListedThread, StoredThread, ThreadsView } from '../../../src/operations/threads.ts'
import { ApiProblem } from '../api/api-problem.ts'
import { readEvents } from '../api/read-events.ts'
import { type RequestOptions, request, requestJson } from '../api/request.ts'
import { toast } from '../parts/toast.tsx'
import { type Answer, answered, failed, newRun, nextRun } from './run-state.ts'
import { goesOnFrom, isReady, loaded, merged, newestFirst, type Place, threadBody } from './thread-sync.ts'
import {
  branched,
  isRunning,
  MAX_THREADS,
  questionOf,
  type Reply,
  read,
  stored,
  type Thread,
  type ThreadSettings,
  type Turn,
  titleOf,
  withReply,
  withTurn,
} from './threads.ts'

interface StoreParts {
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>
  readonly events: typeof readEvents
  readonly send: (path: string, options: { readonly method: 'DELETE' }) => Promise<unknown>
  readonly json: <Answer>(path: string, options?: RequestOptions) => Promise<Answer>
  /** Tells the user. */
  readonly say: (text: string) => void
  readonly now: () => number
  readonly id: () => string
}

const KEY = 'toolyard-threads'
const LOST = 'The run ended without an answer.'

/** The threads of this browser, and of the server if it stores threads. Runs go on while other pages are shown. */
export class ThreadStore {
  readonly #parts: StoreParts
  readonly #listeners = new Set<() => void>()
  /** By reply: what ends its stream. */
  readonly #streams = new Map<string, AbortController>()
  #threads: readonly Thread[]

  #owner = ''
  #place: Place = 'unknown'
  /** One request at a time changes threads on the server. */
  #sent: Promise<unknown> = Promise.resolve()

  constructor(parts: StoreParts) {
    this.#parts = parts
    const { owner, threads } = this.#stored()
    this.#owner = owner
    this.#threads = read(threads)
  }

  /** Another user of this browser doesn't see the threads. */
  belongTo(owner: string): void {
    if (this.#owner !== '' && this.#owner !== owner) this.clear()
    this.#owner = owner
  }

  /** The newest first. */
  get threads(): readonly Thread[] {
    return this.#threads
  }

  /** Where threads are stored. */
  get place(): Place {
    return this.#place
  }

  get(id: string): Thread | undefined {
    return this.#threads.find((thread) => thread.id === id)
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Asks in a thread, or in a new one, after the first `kept` turns. Returns the id of the thread. */
  ask(id: string | undefined, settings: ThreadSettings, query: string, kept?: number): string {
    const { now } = this.#parts
    const known = id === undefined ? undefined : this.get(id)
    const thread = known ?? { id: this.#parts.id(), updatedAt: now(), settings, turns: [] }
    if (known !== undefined) this.stop(known.id)
    const models = settings.models.filter((model) => model !== null)
    const turn: Turn = {
      id: this.#parts.id(),
      query,
      replies: models.map((model) => newRun(model, query, performance.now())),
    }
    const at = Math.min(kept ?? thread.turns.length, thread.turns.length)
    const next = { ...withTurn({ ...thread, settings }, at, turn, now()), dirty: true }
    this.#change([next, ...this.#threads.filter((one) => one.id !== next.id)])
    for (const [column, model] of models.entries()) void this.#run(next, turn, at, column, model)
    return next.id
  }

  /** Cancels the runs of a thread, on the server too. */
  stop(id: string): void {
    const turn = this.get(id)?.turns.at(-1)
    for (const [column, reply] of turn?.replies.entries() ?? []) {
      if (turn !== undefined) this.stopReply(id, turn.id, column, reply)
    }
  }

  stopReply(id: string, turn: string, column: number, reply: Reply): void {
    this.#streams.get(place(id, turn, column))?.abort()
    if (reply.status !== 'waiting') return
    const run = reply.answer?.run_id ?? ''
    void this.#parts.send(`/api/runs/${encodeURIComponent(run)}`, { method: 'DELETE' }).catch(() => {})
    this.#reply(id, turn, column, (one) => ({ ...one, status: 'cancelled', problem: 'You cancelled the run.' }))
  }

  /** Follows the runs of a thread that wait for approval, until they have ended. */
  follow(id: string): void {
    for (const { id: turn, replies } of this.get(id)?.turns ?? []) {
      for (const [column, reply] of replies.entries()) {
        const waits = reply.status === 'waiting' && !this.#streams.has(place(id, turn, column))
        if (waits) void this.#follow(id, turn, column, reply)
      }
    }
  }

  branch(id: string, turn: number): string | undefined {
    const thread = this.get(id)
    if (thread === undefined) return undefined
    const next = branched(thread, turn, this.#parts.id(), this.#parts.now())
    this.#change([next, ...this.#threads])
    this.#send(next.id)
    return next.id
  }

  /** Returns the removed thread, for `restore`. */
  remove(id: string): Thread | undefined {
    const thread = this.get(id)
    if (thread !== undefined && isRunning(thread)) this.stop(id)
    const last = this.get(id)
    this.#change(this.#threads.filter((one) => one.id !== id))
    this.#queue(async () => {
      // The version may have come after the thread was removed here.
      if (this.#place === 'server' || last?.version !== undefined) {
        await this.#parts.json(addressOf(id), { method: 'DELETE' }).catch(() => {})
      }
    })
    return last
  }

  /** Puts a thread back as it was. */
  restore(thread: Thread): void {
    const others = this.#threads.filter(({ id }) => id !== thread.id)
    const next = { ...thread, version: this.get(thread.id)?.version, dirty: true }
    this.#change(newestFirst([...others, next]))
    this.#send(thread.id)
  }

  rename(id: string, title: string): void {
    const change = (thread: Thread): Thread => ({ ...thread, title, dirty: true })
    this.#change(this.#threads.map((thread) => (thread.id === id ? change(thread) : thread)))
    this.#send(id)
  }

  /** Reads which threads the server has, and sends it those that it doesn't have. */
  async sync(): Promise<void> {
    try {
      const { stored: isStored, threads } = await this.#parts.json<ThreadsView>('/api/threads')
      this.#place = isStored ? 'server' : 'browser'
      if (isStored || threads.length > 0) this.#change(merged(this.#threads, threads))
      this.#tell()
      const versions = new Map(threads.map(({ id, updated_at }) => [id, updated_at]))
      for (const { id, version } of this.#threads.filter(isReady)) {
        this.#queue(() => (version === versions.get(id) ? this.#upload(id) : this.#reconcile(id)))
      }
    } catch {
      if (this.#place === 'unknown') this.#place = 'browser'
      this.#tell()
    }
  }

  /** Reads the turns of a thread from the server. */
  async load(id: string): Promise<void> {
    const known = this.get(id)
    if (known !== undefined && known.questions === undefined) return
    try {
      const thread = loaded(await this.#parts.json<StoredThread>(addressOf(id)))
      if (thread !== undefined) this.#put(thread)
    } catch (error) {
      if (statusOf(error) === 404) this.#change(this.#threads.filter((one) => one.id !== id))
    }
  }

  /** Nothing stays in the browser after signing out. */
  clear(): void {
    for (const stream of this.#streams.values()) stream.abort()
    this.#threads = []
    this.#owner = ''
    this.#place = 'unknown'
    this.#parts.storage.removeItem(KEY)
    this.#tell()
  }

  async #run({ id, ...thread }: Thread, turn: Turn, at: number, column: number, model: string): Promise<void> {
    const change = (next: (reply: Reply) => Reply) => this.#reply(id, turn.id, column, next)
    const stream = this.#open(id, turn.id, column)
    try {
      const body = questionOf({ id, ...thread }, at, column, model)
      const options = { method: 'POST', body, signal: stream.signal } as const
      for await (const event of this.#parts.events('/api/tools/test', options)) {
        change((before) => nextRun(before, event, performance.now()))
      }
      change((before) => (before.status === 'running' ? failed(before, LOST, performance.now()) : before))
    } catch (error) {
      change((before) => {
        const over = failed(before, (error as Error).message, performance.now())
        return stream.signal.aborted ? { ...over, status: 'cancelled', problem: 'You cancelled the run.' } : over
      })
    }
    this.#close(id, turn.id, column, stream)
    this.follow(id)
  }

  async #follow(id: string, turn: string, column: number, { answer }: Reply): Promise<void> {
    const stream = this.#open(id, turn, column)
    const path = `/api/runs/${encodeURIComponent(answer?.run_id ?? '')}/events`
    try {
      for await (const { event, data } of this.#parts.events(path, { signal: stream.signal })) {
        const given = data as Answer & { readonly content?: string }
        if (event !== 'end' && event !== 'waiting') continue
        this.#reply(id, turn, column, (reply) =>
          given.content === undefined
            ? { ...reply, status: 'cancelled', problem: 'The run was cancelled.' }
            : event === 'waiting'
              ? answered(reply, given, reply.durationMs ?? 0)
              : { ...answered(reply, given, reply.durationMs ?? 0), turns: [], calls: given.tool_calls?.length ?? 0 },
        )
      }
    } catch {
      // The server is away. The page follows the run again when the thread is opened.
    }
    this.#close(id, turn, column, stream)
  }

  #queue(work: () => Promise<void>): void {
    this.#sent = this.#sent.then(work)
  }

  #send(id: string): void {
    this.#queue(() => this.#upload(id))
  }

  async #upload(id: string, again = true): Promise<void> {
    const thread = this.get(id)
    if (this.#place !== 'server' || thread === undefined || !isReady(thread)) return
    try {
      const body = threadBody(thread)
      const { updated_at: version } = await this.#parts.json<ListedThread>(addressOf(id), { method: 'PUT', body })
      const now = this.get(id)
      if (now !== undefined) this.#put({ ...now, version, dirty: now !== thread })
    } catch (error) {
      // Too large, over the quota, or no answer: the thread is sent again with its next change, or the next visit.
      if (statusOf(error) === 409 && again) await this.#reconcile(id)
    }
  }

  /** The server has another version of the thread than this browser knows, or none any more. */
  async #reconcile(id: string): Promise<void> {
    if (this.#place !== 'server') return
    const other = await this.#parts.json<StoredThread>(addressOf(id)).catch(() => undefined)
    const theirs = other && loaded(other)
    const thread = this.get(id)
    // One that runs is sent when it has ended.
    if (thread === undefined || !isReady(thread)) return
    if (theirs === undefined || goesOnFrom(thread, theirs)) {
      this.#put({ ...thread, version: theirs?.version, dirty: true })
      return this.#upload(id, false)
    }
    const title = `${titleOf(thread)} (copy)`
    const copy = { ...thread, id: this.#parts.id(), title, version: undefined, dirty: true }
    this.#put(theirs)
    this.#change([copy, ...this.#threads])
    this.#parts.say('The thread was changed in another browser. Your version of it is a copy.')
    await this.#upload(copy.id, false)
  }

  #put(thread: Thread): void {
    const others = this.#threads.filter(({ id }) => id !== thread.id)
    this.#change(newestFirst([...others, thread]))
  }

  #open(id: string, turn: string, column: number): AbortController {
    const stream = new AbortController()
    this.#streams.set(place(id, turn, column), stream)
    return stream
  }

  #close(id: string, turn: string, column: number, stream: AbortController): void {
    const at = place(id, turn, column)
    if (this.#streams.get(at) === stream) this.#streams.delete(at)
    this.#change(this.#threads.map((thread) => (thread.id === id ? { ...thread, dirty: true } : thread)))
    this.#send(id)
  }

  #reply(id: string, turn: string, column: number, change: (reply: Reply) => Reply): void {
    this.#threads = this.#threads.map((thread) => (thread.id === id ? withReply(thread, turn, column, change) : thread))
    this.#tell()
  }

  #change(threads: readonly Thread[]): void {
    this.#threads = threads.slice(0, MAX_THREADS)
    this.#save()
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #stored(): { readonly owner: string; readonly threads: unknown } {
    try {
      const { owner, threads } = Object(JSON.parse(this.#parts.storage.getItem(KEY) ?? '{}'))
      return { owner: String(owner ?? ''), threads }
    } catch {
      return { owner: '', threads: [] }
    }
  }

  /** Drops the oldest threads if the browser has no room for all. */
  #save(): void {
    for (let count = this.#threads.length; count >= 0; count = count === 0 ? -1 : Math.floor(count / 2)) {
      try {
        const threads = stored(this.#threads.slice(0, count))
        this.#parts.storage.setItem(KEY, JSON.stringify({ owner: this.#owner, threads }))
        return
      } catch {
        // Full, or not allowed: the threads last as long as the page.
      }
    }
  }
}

const addressOf = (id: string): string => `/api/threads/${encodeURIComponent(id)}`

const statusOf = (error: unknown): number | undefined => (error instanceof ApiProblem ? error.status : undefined)

const place = (id: string, turn: string, column: number): string => `${id} ${turn} ${column}`

let store: ThreadStore | undefined

/** The store of this browser. */
export function threadStore(): ThreadStore {
  store ??= new ThreadStore({
    storage: localStorage,
    events: readEvents,
    send: request,
    // A deletion has no body.
    json: (path, options) =>
      options?.method === 'DELETE' ? (request(path, options) as Promise<never>) : requestJson(path, options),
    say: (text) => toast({ text }),
    now: Date.now,
    id: () => crypto.randomUUID(),
  })
  return store
}

export const useThreads = (): readonly Thread[] =>
  useSyncExternalStore(threadStore().subscribe, () => threadStore().threads)

/** Where the threads are stored. */
export const useThreadPlace = (): Place => useSyncExternalStore(threadStore().subscribe, () => threadStore().place)
