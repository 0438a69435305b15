import { useEffect, useState, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { CrossIcon } from './icons.tsx'
import { isTyping } from './is-typing.ts'

export interface Toast {
  readonly text: string
  /** Where to see it. */
  readonly link?: { readonly label: string; readonly href: string } | undefined
  /** Takes back what has happened. */
  readonly undo?: () => void
}

const SHOWN_MS = 10_000
/** Somebody who reads first and goes there by keyboard needs time. */
const SHOWN_WITH_UNDO_MS = 30_000

let shown: Toast | undefined
const listeners = new Set<() => void>()

/** Says what has happened, with a button that takes it back. A later one replaces it. */
export function toast(next: Toast | undefined): void {
  shown = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Shows the last toast. It stays as long as the pointer or the focus is on it. */
export function Toasts() {
  const current = useSyncExternalStore(subscribe, () => shown)
  const [held, setHeld] = useState(false)
  useEffect(() => {
    if (current === undefined || held) return
    const timer = setTimeout(() => toast(undefined), current.undo === undefined ? SHOWN_MS : SHOWN_WITH_UNDO_MS)
    return () => clearTimeout(timer)
  }, [current, held])
  const undo = () => {
    current?.undo?.()
    setHeld(false)
    toast(undefined)
  }
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isUndo =
        event.key.toLowerCase() === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
      // A field has an undo of its own.
      if (!isUndo || current?.undo === undefined || isTyping(event.target)) return
      event.preventDefault()
      undo()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 top-14 z-50 flex justify-center px-4">
      {current !== undefined && (
        // biome-ignore lint/a11y/noStaticElementInteractions: it only keeps the message from vanishing.
        <div
          className="pointer-events-auto flex max-w-full flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-ink py-1.5 pr-1.5 pl-4 text-sm text-ground shadow-xl"
          onPointerEnter={() => setHeld(true)}
          onPointerLeave={() => setHeld(false)}
          onFocus={() => setHeld(true)}
          onBlur={() => setHeld(false)}
        >
          <span className="line-clamp-3 min-w-0 grow wrap-anywhere">{current.text}</span>
          {current.link !== undefined && (
            <Link
              href={current.link.href}
              className="inline-flex min-h-8 max-w-48 items-center rounded-md border border-current px-2.5 font-medium hover:opacity-80"
              onClick={() => {
                setHeld(false)
                toast(undefined)
              }}
            >
              <span className="truncate">{current.link.label}</span>
            </Link>
          )}
          {current.undo !== undefined && (
            <button
              type="button"
              className="min-h-8 rounded-md border border-current px-2.5 font-medium hover:opacity-80"
              aria-keyshortcuts="Control+Z"
              title="Ctrl+Z"
              onClick={undo}
            >
              Undo
            </button>
          )}
          <button
            type="button"
            aria-label="Dismiss"
            className="min-h-8 min-w-8 rounded-md p-1.5 hover:opacity-80"
            onClick={() => {
              setHeld(false)
              toast(undefined)
            }}
          >
            <CrossIcon />
          </button>
        </div>
      )}
    </div>
  )
}
