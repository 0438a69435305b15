import { useSyncExternalStore } from 'react'
import { MoonIcon, SunIcon } from '../parts/icons.tsx'

const subscribe = (listener: () => void): (() => void) => {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** Light or dark; the system's theme by default. */
export function ThemeSwitch() {
  const dark = useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme === 'dark')
  const choose = () => {
    const chosen = dark ? 'light' : 'dark'
    document.documentElement.dataset.theme = chosen
    try {
      localStorage.setItem('toolyard-theme', chosen)
    } catch {
      // Not stored: applies to this visit only.
    }
  }
  const label = dark ? 'Switch to light' : 'Switch to dark'
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      onClick={choose}
      className="rounded-lg p-2 text-muted hover:bg-sunk hover:text-ink"
    >
      {dark ? <SunIcon /> : <MoonIcon />}
    </button>
  )
}
