import { useEffect, useState, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { CrossIcon } from './icons.tsx'

export interface Toast {
  readonly text: string
  /** Where to see it. */
  readonly link?: { readonly label: string; readonly href: string } | undefined
  /** Takes back what has happened. */
  readonly undo?: () => void
}

const SHOWN_MS = 10_000

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
    const timer = setTimeout(() => toast(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [current, held])
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 bottom-4 z-50 flex justify-center px-4">
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
              onClick={() => {
                current.undo?.()
                setHeld(false)
                toast(undefined)
              }}
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
