import type { Params } from 'toolyard'

/** The prime factors of a whole number. It never gives way to other work, so it must not run where others wait. */
export function primeFactors({ number }: Params): { factors: number[] } {
  const factors: number[] = []
  let rest = Number(number)
  for (let divisor = 2; divisor * divisor <= rest; divisor++) {
    for (; rest % divisor === 0; rest /= divisor) factors.push(divisor)
  }
  return { factors: rest > 1 ? [...factors, rest] : factors }
}

/** Never ends. */
export function spin(): never {
  for (;;);
}
