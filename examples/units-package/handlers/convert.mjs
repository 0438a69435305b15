const METERS = { m: 1, km: 1_000, ft: 0.3048, mi: 1_609.344 }

export function convert({ value, from, to }) {
  return { value: (value * METERS[from]) / METERS[to], unit: to }
}
