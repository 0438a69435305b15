import { useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { count, inDate } from '../parts/figures.ts'
import { CrossIcon, PencilIcon, PlusIcon } from '../parts/icons.tsx'
import { toast } from '../parts/toast.tsx'
import { threadStore, useThreadPlace, useThreads } from './thread-store.ts'
import type { Place } from './thread-sync.ts'
import { isRunning, MAX_TITLE, type Thread, titleOf } from './threads.ts'

export const threadAddress = (id: string): string => `/tools-testing/${id}`

interface ThreadListProps {
  readonly current: string | undefined
  /** Opens a thread, or a new one. */
  readonly open: (id?: string) => void
}

const PLACES: Readonly<Record<Place, string>> = {
  unknown: '',
  server: 'Threads are stored on the server. You can open them in another browser.',
  browser:
    'Threads stay in this browser, because the server doesn’t store contents (storage.payloads). Their runs are on the server.',
}

/** The threads of the user, with the ones that are on the server. */
export function ThreadList({ current, open }: ThreadListProps) {
  const threads = useThreads()
  const place = useThreadPlace()
  const [renamed, setRenamed] = useState<string>()
  const list = useRef<HTMLElement>(null)
  const newThread = useRef<HTMLButtonElement>(null)
  const renamedNow = (id: string) => {
    flushSync(() => setRenamed(undefined))
    list.current?.querySelector<HTMLElement>(`[data-renames="${CSS.escape(id)}"]`)?.focus()
  }
  const remove = async (thread: Thread) => {
    // Undo needs all of it.
    await threadStore().load(thread.id)
    const removed = threadStore().remove(thread.id)
    if (removed === undefined) return
    if (thread.id === current) open()
    else newThread.current?.focus()
    toast({
      text: `Deleted “${titleOf(removed)}”`,
      undo: () => {
        threadStore().restore(removed)
        if (thread.id === current) open(removed.id)
      },
    })
  }
  return (
    <nav ref={list} aria-label="Threads" className="panel min-w-0 p-2">
      <Button ref={newThread} className="w-full" onClick={() => open()}>
        <PlusIcon /> New thread
      </Button>
      <p className="px-2 pt-2 text-xs text-muted">
        {threads.length === 0 && 'Your threads appear here. '}
        {PLACES[place]}
      </p>
      {threads.length > 0 && (
        <ul className="mt-2 grid max-h-64 gap-0.5 overflow-y-auto p-0.5 xl:max-h-[calc(100dvh-14rem)]">
          {threads.map((thread) => (
            <li key={thread.id} className="group flex min-w-0 items-center">
              {renamed === thread.id ? (
                <Rename thread={thread} left={() => setRenamed(undefined)} done={() => renamedNow(thread.id)} />
              ) : (
                <>
                  <Link
                    href={threadAddress(thread.id)}
                    aria-current={thread.id === current ? 'page' : undefined}
                    title={inDate(new Date(thread.updatedAt).toISOString())}
                    className="min-w-0 flex-1 rounded-md px-2 py-1 hover:bg-sunk aria-[current]:bg-sunk"
                  >
                    <span className="line-clamp-2 text-sm wrap-anywhere">{titleOf(thread)}</span>
                    <span className="block text-xs text-muted">
                      {isRunning(thread) ? (
                        <span className="moving">running …</span>
                      ) : (
                        count(thread.questions ?? thread.turns.length, 'question')
                      )}
                    </span>
                  </Link>
                  <button
                    type="button"
                    aria-label={`Rename the thread ${titleOf(thread)}`}
                    data-renames={thread.id}
                    className="min-h-8 min-w-8 rounded-md p-1.5 text-muted hover:bg-sunk hover:text-ink"
                    onClick={() =>
                      void threadStore()
                        .load(thread.id)
                        .then(() => setRenamed(thread.id))
                    }
                  >
                    <PencilIcon />
                  </button>
                  <button
                    type="button"
                    aria-label={`Delete the thread ${titleOf(thread)}`}
                    className="min-h-8 min-w-8 rounded-md p-1.5 text-muted hover:bg-sunk hover:text-ink"
                    onClick={() => void remove(thread)}
                  >
                    <CrossIcon />
                  </button>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </nav>
  )
}

interface RenameProps {
  readonly thread: Thread
  /** The focus is elsewhere. */
  readonly left: () => void
  readonly done: () => void
}

/** Enter and leaving the field save, Esc doesn’t. */
function Rename({ thread, left, done }: RenameProps) {
  const [title, setTitle] = useState(titleOf(thread))
  const save = () => {
    const next = title.trim()
    if (next !== '' && next !== titleOf(thread)) threadStore().rename(thread.id, next)
  }
  return (
    <input
      aria-label="Name of the thread"
      // biome-ignore lint/a11y/noAutofocus: the user has just asked for it.
      autoFocus
      className="field m-1"
      maxLength={MAX_TITLE}
      value={title}
      onChange={(event) => setTitle(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={() => {
        save()
        left()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return
        // The key is not for the button that gets the focus.
        event.preventDefault()
        if (event.key === 'Enter') save()
        done()
      }}
    />
  )
}
