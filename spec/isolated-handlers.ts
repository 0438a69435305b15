import type { HandlerContext, Params } from 'toolyard'

/** Says which process it is in, then never gives it back. */
export async function spin(_: Params, { report }: HandlerContext): Promise<never> {
  report(process.pid)
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (;;);
}

/** Takes memory until there is none. */
export function hoard(): never {
  const kept: number[][] = []
  for (;;) kept.push(new Array(100_000).fill(kept.length))
}

export function add({ a, b }: Params): number {
  return (a as number) + (b as number)
}
