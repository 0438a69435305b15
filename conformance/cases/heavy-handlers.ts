// In a module of their own, so that a runtime can import them into another process.

/** Shows that handlers of this module can be run at all. */
export const light = (): string => 'light'

/** Computes for ever. */
export function spin(): never {
  for (let round = 0; ; round++) if (round < 0) break
  throw new Error('not reached')
}

/** Takes ever more memory, but lets others run in between. */
export async function swell(): Promise<never> {
  const kept: number[][] = []
  for (;;) {
    kept.push(new Array<number>(1_000_000).fill(kept.length + 0.5))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
