import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { ListedModel } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { BranchIcon, PencilIcon, RedoIcon } from '../parts/icons.tsx'
import { ReplyView } from './reply-view.tsx'
import { threadStore } from './thread-store.ts'
import { isRunning, type Thread, type Turn } from './threads.ts'

/** Enter sends, Shift+Enter starts a new line. Ctrl+Enter sends as well. */
export function sendsOn({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !shiftKey && !nativeEvent.isComposing
}

interface ThreadViewProps {
  readonly thread: Thread
  readonly models: readonly ListedModel[]
  /** A run that the question repeats. */
  readonly before: { readonly query: string | null; readonly run: string } | undefined
  /** Asks instead of the turn at this place. */
  readonly ask: (query: string, at: number) => void
  readonly branch: (at: number) => void
}

/** The questions and answers of a thread. */
export function ThreadView({ thread, models, before, ask, branch }: ThreadViewProps) {
  const waits = thread.turns.some(({ replies }) => replies.some(({ status }) => status === 'waiting'))
  useEffect(() => {
    if (waits) threadStore().follow(thread.id)
  }, [waits, thread.id])
  const running = isRunning(thread)
  const last = thread.turns.at(-1)?.id
  const isFirst = thread.turns.length === 1
  const end = useRef<HTMLLIElement>(null)
  // A thread opens at its last question.
  const seen = useRef(running || thread.turns.length > 1 ? undefined : last)
  useEffect(() => {
    if (seen.current === last) return
    seen.current = last
    // A new page goes to its start first.
    const frame = requestAnimationFrame(() => {
      if (isFirst) scrollTo(0, 0)
      else end.current?.scrollIntoView({ block: 'start' })
    })
    return () => cancelAnimationFrame(frame)
  }, [last, isFirst])
  return (
    <ol className="grid grid-cols-1 gap-6" aria-label="Conversation">
      {thread.turns.map((turn, at) => (
        <li key={turn.id} ref={turn.id === last ? end : null} className="grid scroll-mt-4 grid-cols-1 gap-3">
          <Question
            name={`Question ${at + 1}`}
            turn={turn}
            running={running}
            ask={(query) => ask(query, at)}
            again={() => ask(turn.query, thread.turns.length)}
            branch={() => branch(at)}
          />
          <div className="grid grid-cols-1 items-start gap-3 lg:auto-cols-fr lg:grid-flow-col lg:grid-cols-none">
            {turn.replies.map((reply, column) => (
              <ReplyView
                // biome-ignore lint/suspicious/noArrayIndexKey: a column is a model.
                key={column}
                reply={reply}
                model={models.find(({ id }) => id === reply.model)}
                isLatest={turn.id === last}
                stop={() => threadStore().stopReply(thread.id, turn.id, column, reply)}
                before={before !== undefined && before.query === turn.query ? before.run : undefined}
              />
            ))}
          </div>
        </li>
      ))}
    </ol>
  )
}

interface QuestionProps {
  readonly name: string
  readonly turn: Turn
  readonly running: boolean
  readonly ask: (query: string) => void
  readonly again: () => void
  readonly branch: () => void
}

function Question({ name, turn, running, ask, again, branch }: QuestionProps) {
  const [draft, setDraft] = useState<string>()
  const edit = useRef<HTMLButtonElement>(null)
  const keep = () => {
    flushSync(() => setDraft(undefined))
    edit.current?.focus()
  }
  const send = () => {
    if (draft === undefined || draft.trim() === '') return
    setDraft(undefined)
    ask(draft.trim())
  }
  if (draft !== undefined) {
    return (
      <div className="ml-auto w-full max-w-2xl">
        <textarea
          aria-label="Edit the question"
          // biome-ignore lint/a11y/noAutofocus: the user has just asked for it.
          autoFocus
          rows={2}
          className="field resize-y"
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') keep()
            if (!sendsOn(event)) return
            event.preventDefault()
            send()
          }}
        />
        <div className="mt-2 flex flex-wrap items-center justify-end gap-2">
          <span className="mr-auto text-sm text-muted">The answers below are replaced.</span>
          <Button onClick={keep}>Keep as it is</Button>
          <Button look="main" disabled={draft.trim() === '' || running} onClick={send}>
            Resend
          </Button>
        </div>
      </div>
    )
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is a part of a form.
    <div role="group" aria-label={name} className="ml-auto flex max-w-full min-w-0 flex-col items-end lg:max-w-[80%]">
      <p className="max-w-full rounded-2xl rounded-br-sm bg-accent-ground px-4 py-2 wrap-anywhere whitespace-pre-wrap">
        <span className="sr-only">You: </span>
        {turn.query}
      </p>
      <div className="-mr-2 flex flex-wrap justify-end">
        <Button ref={edit} look="quiet" disabled={running} onClick={() => setDraft(turn.query)}>
          <PencilIcon /> <span className="max-sm:sr-only">Edit</span>
        </Button>
        <Button look="quiet" disabled={running} onClick={again}>
          <RedoIcon /> <span className="max-sm:sr-only">Ask again</span>
        </Button>
        <Button look="quiet" disabled={running} onClick={branch}>
          <BranchIcon /> <span className="max-sm:sr-only">Branch</span>
        </Button>
        <CopyButton look="quiet" text={turn.query} />
      </div>
    </div>
  )
}
