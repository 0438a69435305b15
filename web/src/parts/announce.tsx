import { useEffect, useRef, useSyncExternalStore } from 'react'

interface Announcement {
  readonly id: number
  readonly text: string
}

/** Long enough for a screen reader to notice it. */
const KEPT_MS = 5_000

let said: readonly Announcement[] = []
let last = 0
const listeners = new Set<() => void>()

const change = (next: readonly Announcement[]): void => {
  said = next
  for (const listener of listeners) listener()
}

/** Tells screen readers what has changed on the page. Several texts are read one after the other. */
export function announce(text: string): void {
  last += 1
  const id = last
  change([...said, { id, text }])
  setTimeout(() => change(said.filter((one) => one.id !== id)), KEPT_MS)
}

/** Announces a text whenever it changes to another one, but not the first one. */
export function useAnnounced(text: string): void {
  const before = useRef(text)
  useEffect(() => {
    if (before.current === text) return
    before.current = text
    if (text !== '') announce(text)
  }, [text])
}

export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const announcements = (): readonly Announcement[] => said

/** The live region of the page. A log: only what is added to it is read. */
export function Announcements() {
  const current = useSyncExternalStore(subscribe, announcements)
  return (
    <div role="log" aria-label="Announcements" className="sr-only">
      {current.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  )
}
