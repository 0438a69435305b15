export interface Interval {
  readonly low: number
  readonly high: number
}

/** How often something happened. */
export interface Rate {
  readonly hits: number
  readonly total: number
}

/** The score interval of Wilson for a rate. */
export function wilson(hits: number, total: number, z: number): Interval {
  const rate = hits / total
  const z2 = (z * z) / total
  const middle = (rate + z2 / 2) / (1 + z2)
  const spread = (z * Math.sqrt((rate * (1 - rate)) / total + z2 / (4 * total))) / (1 + z2)
  return { low: Math.max(0, middle - spread), high: Math.min(1, middle + spread) }
}

/** The interval of Newcombe (method 10) for the difference of two rates: how much higher the second one is. */
export function difference(first: Rate, second: Rate, z: number): Interval {
  const [a, b] = [first.hits / first.total, second.hits / second.total]
  const [low, high] = [wilson(first.hits, first.total, z), wilson(second.hits, second.total, z)]
  return {
    low: b - a - Math.hypot(b - high.low, low.high - a),
    high: b - a + Math.hypot(high.high - b, a - low.low),
  }
}

/** The inverse of the normal distribution, by bisection of an approximation of erf with errors below 1.5e-7. */
export function normalQuantile(chance: number): number {
  let [low, high] = [-10, 10]
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2
    if (normal(middle) < chance) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Abramowitz and Stegun, 7.1.26. */
function normal(x: number): number {
  const z = Math.abs(x) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * z)
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
  const erf = 1 - series * Math.exp(-z * z)
  return x < 0 ? (1 - erf) / 2 : (1 + erf) / 2
}
