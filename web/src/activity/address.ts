import { useSearchParams } from 'wouter'

/** The choices that stand in the address, so that a view can be passed on and outlives a reload. */
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
