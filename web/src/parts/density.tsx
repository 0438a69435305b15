import { useSyncExternalStore } from 'react'
import { RowsIcon } from './icons.tsx'

const KEY = 'toolyard-density'
const subscribe = (listener: () => void): (() => void) => {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-density'] })
  return () => observer.disconnect()
}

/** Whether lists show as many rows as fit. */
export const useCompact = (): boolean =>
  useSyncExternalStore(subscribe, () => document.documentElement.dataset.density === 'compact')

/** Switches lists between rows that are easy to read and as many rows as fit. */
export function DensitySwitch() {
  const compact = useCompact()
  const choose = () => {
    const chosen = compact ? 'comfortable' : 'compact'
    document.documentElement.dataset.density = chosen
    try {
      localStorage.setItem(KEY, chosen)
    } catch {
      // Not stored: applies to this visit only.
    }
  }
  return (
    <button
      type="button"
      aria-pressed={compact}
      title={compact ? 'Show larger rows' : 'Show more rows'}
      onClick={choose}
      className="rounded-lg p-2 text-muted hover:bg-sunk hover:text-ink aria-pressed:text-accent"
    >
      <RowsIcon />
      <span className="sr-only">Compact rows</span>
    </button>
  )
}
