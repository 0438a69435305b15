import { Suspense, useEffect, useRef, useState } from 'react'
import { SearchIcon } from '../parts/icons.tsx'
import { lazyPart } from '../parts/lazy-part.ts'

const Palette = lazyPart(async () => (await import('./palette.tsx')).Palette)

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))

/** Ctrl+K opens the palette. `/` goes to the search field of the page, or opens the palette if there is none. */
export function Shortcuts() {
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(false)
  /** The keys that were pressed before the palette was loaded and focused. Undefined when it isn't awaited. */
  const typed = useRef<string>(undefined)
  const show = () => {
    typed.current = ''
    setWanted(true)
    setOpen(true)
  }
  const hide = () => {
    typed.current = undefined
    setOpen(false)
  }
  const takeTyped = (): string => {
    const keys = typed.current ?? ''
    typed.current = undefined
    return keys
  }
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault()
        if (open) hide()
        else show()
        return
      }
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
      if (typed.current !== undefined && isPlain) {
        if (event.key === 'Escape') hide()
        if (event.key.length !== 1) return
        event.preventDefault()
        typed.current += event.key
        return
      }
      if (event.key !== '/' || !isPlain || isTyping(event.target)) return
      const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
      event.preventDefault()
      if (field === null) return show()
      field.focus()
      field.select()
    }
    addEventListener('keydown', press, { capture: true })
    return () => removeEventListener('keydown', press, { capture: true })
  })
  return (
    <>
      <button
        type="button"
        aria-keyshortcuts="Control+K"
        onClick={show}
        className="inline-flex min-h-8 items-center gap-2 rounded-lg border border-line px-2 text-sm text-muted hover:border-edge hover:text-ink"
      >
        <SearchIcon />
        <span className="max-md:sr-only">Go to</span>
        <span aria-hidden="true" className="text-xs max-md:hidden">
          Ctrl K
        </span>
      </button>
      {wanted && (
        <Suspense fallback={null}>
          <Palette open={open} onClose={hide} takeTyped={takeTyped} />
        </Suspense>
      )}
    </>
  )
}
