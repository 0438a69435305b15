const DAY_MS = 86_400_000

interface DayCost {
  readonly day: string
  /** Null if it is unknown. */
  readonly cost: number | null
}

/** Every day of a period: without calls nothing was spent; with calls of unknown cost only, the cost is unknown. */
export function costByDay(
  days: readonly DayCost[],
  from: string,
  to: string,
): readonly { readonly start: string; readonly cost: number | null }[] {
  const known = new Map(days.map(({ day, cost }) => [day, cost]))
  const all: { start: string; cost: number | null }[] = []
  for (let at = Date.parse(from); at < Date.parse(to); at += DAY_MS) {
    const start = new Date(at).toISOString().slice(0, 10)
    const cost = known.get(start)
    all.push({ start, cost: cost === undefined ? 0 : cost })
  }
  return all
}
