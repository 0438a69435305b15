import { useEffect, useEffectEvent, useState } from 'react'

/** The debounce time. */
const PAUSE_MS = 500

interface FilterTextProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  /** Suggestions. */
  readonly suggestions?: readonly string[]
}

/** A filter text, applied after a pause or on Enter. */
export function FilterText({ label, value, onChange, placeholder, suggestions = [] }: FilterTextProps) {
  const [draft, setDraft] = useState(value)
  const [known, setKnown] = useState(value)
  if (known !== value) {
    setKnown(value)
    setDraft(value)
  }
  const commit = useEffectEvent(() => onChange(draft.trim()))
  useEffect(() => {
    if (draft.trim() === value) return
    const timer = setTimeout(() => commit(), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [draft, value])
  const list = `known-${label}`
  return (
    <>
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        className="field max-md:text-sm"
        spellCheck={false}
        autoComplete="off"
        maxLength={200}
        list={suggestions.length > 0 ? list : undefined}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && draft.trim() !== value && onChange(draft.trim())}
      />
      {suggestions.length > 0 && (
        <datalist id={list}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  )
}
