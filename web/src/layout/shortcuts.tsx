import { Suspense, useEffect, useRef, useState } from 'react'
import { useLocationProperty } from 'wouter/use-browser-location'
import { SearchIcon } from '../parts/icons.tsx'
import { isTyping } from '../parts/is-typing.ts'
import { lazyPart } from '../parts/lazy-part.ts'
import { SHORTCUTS_HASH } from './shortcuts-hash.ts'

const Palette = lazyPart(async () => (await import('./palette.tsx')).Palette)

const ShortcutHelp = lazyPart(async () => (await import('./shortcut-help.tsx')).ShortcutHelp)

/** Ctrl+K opens the palette. `/` goes to the search field of the page, or opens the palette if there is none. `?` lists them. */
export function Shortcuts() {
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(false)
  const [help, setHelp] = useState<'open' | 'closed'>()
  const hash = useLocationProperty(() => location.hash)
  // The palette leads here.
  useEffect(() => {
    if (hash !== SHORTCUTS_HASH) return
    history.replaceState(history.state, '', `${location.pathname}${location.search}`)
    setHelp('open')
  }, [hash])
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
      if (!isPlain || isTyping(event.target)) return
      if (event.key === '?' && document.querySelector('[role="dialog"], [role="alertdialog"]') === null) {
        event.preventDefault()
        setHelp('open')
      }
      if (event.key !== '/') return
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
      {help !== undefined && (
        <Suspense fallback={null}>
          <ShortcutHelp open={help === 'open'} onClose={() => setHelp('closed')} />
        </Suspense>
      )}
    </>
  )
}
