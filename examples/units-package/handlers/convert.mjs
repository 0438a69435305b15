/** @type {Record<string, number>} */
const METERS = { m: 1, km: 1_000, ft: 0.3048, mi: 1_609.344 }

/** @param {{ value: number, from: string, to: string }} params */
export function convert({ value, from, to }) {
  return { value: (value * (METERS[from] ?? 1)) / (METERS[to] ?? 1), unit: to }
}
