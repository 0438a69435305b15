import type { ListedThread, StoredThread } from '../../../src/operations/threads.ts'
import { DEFAULT_SETTINGS, isRunning, read, stored, type Thread, titleOf } from './threads.ts'

/** Where threads are stored; unknown until the server has said it. */
export type Place = 'unknown' | 'server' | 'browser'

/** A thread whose turns are on the server only, until it is opened. */
const unloaded = ({ id, name, questions, updated_at }: ListedThread): Thread => ({
  id,
  updatedAt: updated_at,
  settings: DEFAULT_SETTINGS,
  turns: [],
  title: name,
  version: updated_at,
  questions,
})

/** The threads of this browser and those of the server. Changes that the server doesn't have yet stay. */
export function merged(own: readonly Thread[], listed: readonly ListedThread[]): Thread[] {
  const known = new Map(own.map((thread) => [thread.id, thread]))
  const ids = new Set(listed.map(({ id }) => id))
  const onServer = listed.map((one) => {
    const thread = known.get(one.id)
    return thread !== undefined && (isUnsent(thread) || thread.version === one.updated_at) ? thread : unloaded(one)
  })
  // A thread that the server had and has no more was deleted in another browser.
  const others = own.filter((thread) => !ids.has(thread.id) && isUnsent(thread))
  return newestFirst([...onServer, ...others])
}

export const newestFirst = (threads: readonly Thread[]): Thread[] =>
  threads.toSorted((one, other) => other.updatedAt - one.updatedAt)

/** Whether the server has an older version of the thread, or none. */
export const isUnsent = ({ version, dirty }: Thread): boolean => version === undefined || dirty === true

/** Whether a thread goes on from what another browser, or a request without an answer, has stored. */
export const goesOnFrom = (thread: Thread, other: Thread): boolean =>
  other.turns.every(({ id }, at) => thread.turns[at]?.id === id)

/** Whether the thread can be sent now. */
export const isReady = (thread: Thread): boolean =>
  isUnsent(thread) && thread.questions === undefined && thread.turns.length > 0 && !isRunning(thread)

/** The body of `PUT /api/threads/{id}`. */
export function threadBody(thread: Thread): object {
  const [{ settings, turns }] = stored([thread]) as [Thread]
  return { name: titleOf(thread), before: thread.version ?? null, content: { settings, turns } }
}

/** A thread that the server sent; undefined if this page can't read it. */
export function loaded({ id, name, updated_at, content }: StoredThread): Thread | undefined {
  const [thread] = read([{ id, updatedAt: updated_at, version: updated_at, ...content }])
  return thread && (titleOf(thread) === name ? thread : { ...thread, title: name })
}
