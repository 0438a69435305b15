import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { count, inDate } from '../parts/figures.ts'
import { CrossIcon, PlusIcon } from '../parts/icons.tsx'
import { toast } from '../parts/toast.tsx'
import { threadStore, useThreads } from './thread-store.ts'
import { isRunning, type Thread, titleOf } from './threads.ts'

export const threadAddress = (id: string): string => `/tools-testing/${id}`

interface ThreadListProps {
  readonly current: string | undefined
  /** Opens a thread, or a new one. */
  readonly open: (id?: string) => void
}

/** The threads of this browser. */
export function ThreadList({ current, open }: ThreadListProps) {
  const threads = useThreads()
  const remove = (thread: Thread) => {
    const removed = threadStore().remove(thread.id)
    if (removed === undefined) return
    if (thread.id === current) open()
    toast({
      text: `Deleted “${titleOf(removed)}”`,
      undo: () => {
        threadStore().restore(removed)
        if (thread.id === current) open(removed.id)
      },
    })
  }
  return (
    <nav aria-label="Threads" className="panel min-w-0 p-2">
      <Button className="w-full" onClick={() => open()}>
        <PlusIcon /> New thread
      </Button>
      <p className="px-2 pt-2 text-xs text-muted">
        {threads.length === 0 && 'Your threads appear here. '}
        Threads are stored in this browser only. Their runs are on the server.
      </p>
      {threads.length > 0 && (
        <ul className="mt-2 grid max-h-64 gap-0.5 overflow-y-auto xl:max-h-[calc(100dvh-14rem)]">
          {threads.map((thread) => (
            <li key={thread.id} className="group flex min-w-0 items-center">
              <Link
                href={threadAddress(thread.id)}
                aria-current={thread.id === current ? 'page' : undefined}
                title={inDate(new Date(thread.updatedAt).toISOString())}
                className="min-w-0 flex-1 rounded-md px-2 py-1 hover:bg-sunk aria-[current]:bg-sunk"
              >
                <span className="block truncate text-sm">{titleOf(thread)}</span>
                <span className="block text-xs text-muted">
                  {isRunning(thread) ? (
                    <span className="moving">running …</span>
                  ) : (
                    count(thread.turns.length, 'question')
                  )}
                </span>
              </Link>
              <button
                type="button"
                aria-label={`Delete the thread ${titleOf(thread)}`}
                className="min-h-8 min-w-8 rounded-md p-1.5 text-muted hover:bg-sunk hover:text-ink"
                onClick={() => remove(thread)}
              >
                <CrossIcon />
              </button>
            </li>
          ))}
        </ul>
      )}
    </nav>
  )
}
