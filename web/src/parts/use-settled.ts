import { useEffect, useState } from 'react'

const SETTLED_MS = 300

/** A value when it has not changed for a moment: what is typed is not asked for letter by letter. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
