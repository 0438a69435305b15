import { useSearchParams } from 'wouter'

/** Keeps the filters in the URL, so that a view can be shared and reloaded. */
export function useAddress(): readonly [URLSearchParams, (changes: Readonly<Record<string, string>>) => void] {
  const [params, setParams] = useSearchParams()
  const change = (changes: Readonly<Record<string, string>>) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') next.delete(name)
          else next.set(name, value)
        }
        return next
      },
      { replace: true },
    )
  return [params, change]
}
