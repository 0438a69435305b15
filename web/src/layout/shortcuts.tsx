import { Suspense, useEffect, useState } from 'react'
import { SearchIcon } from '../parts/icons.tsx'
import { lazyPart } from '../parts/lazy-part.ts'

const Palette = lazyPart(async () => (await import('./palette.tsx')).Palette)

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))

/** Ctrl+K opens the palette, and `/` goes to the search field of the page. */
export function Shortcuts() {
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(false)
  const show = () => {
    setWanted(true)
    setOpen(true)
  }
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault()
        setWanted(true)
        setOpen((before) => !before)
      }
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
      if (event.key !== '/' || !isPlain || isTyping(event.target)) return
      const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
      if (field === null) return
      event.preventDefault()
      field.focus()
      field.select()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
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
          <Palette open={open} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
