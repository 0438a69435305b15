import { median } from './statistics.ts'

/** Runs one thing so many times, one after the other. */
export type Loop = (calls: number) => Promise<void>

export interface Batch {
  readonly wallUs: number
  readonly cpuUs: number
}

/** Time per call over one batch; CPU is that of the whole process, its collector and compiler threads included. */
export async function batch(loop: Loop, calls: number): Promise<Batch> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  await loop(calls)
  const wallUs = ((performance.now() - started) * 1000) / calls
  const used = process.cpuUsage(cpu)
  return { wallUs, cpuUs: (used.user + used.system) / calls }
}

/**
 * Runs the loop for about `ms`, so that it is compiled, and says how many calls then fill `batchMs`. The fastest batch
 * counts: one that the machine held up would make all later ones too short to mean anything.
 */
export async function warmUp(loop: Loop, ms: number, batchMs: number): Promise<number> {
  const end = performance.now() + ms
  const fill = (us: number) => Math.max(1, Math.round((batchMs * 1000) / us))
  let calls = 1
  let fastest = (await batch(loop, calls)).wallUs
  while (performance.now() < end) {
    calls = Math.min(calls * 2, fill(fastest))
    fastest = Math.min(fastest, (await batch(loop, calls)).wallUs)
  }
  return fill(fastest)
}

export interface Pairs {
  readonly wallUs: number
  readonly cpuUs: number
  readonly baseWallUs: number
  readonly baseCpuUs: number
  readonly wallRatio: number
  readonly cpuRatio: number
  readonly calls: number
}

/**
 * Measures two loops in turns, so that both see the same seconds of a noisy machine. The ratio is the median over
 * pairs of neighbouring batches; who goes first alternates.
 */
export async function inTurns(base: Loop, loop: Loop, pairs: number, batchMs: number, warmMs: number): Promise<Pairs> {
  const baseCalls = await warmUp(base, warmMs, batchMs)
  const calls = await warmUp(loop, warmMs, batchMs)
  const bases: Batch[] = []
  const batches: Batch[] = []
  for (let pair = 0; pair < pairs; pair++) {
    if (pair % 2 === 0) bases.push(await batch(base, baseCalls))
    batches.push(await batch(loop, calls))
    if (pair % 2 === 1) bases.push(await batch(base, baseCalls))
  }
  const ratios = (key: keyof Batch) => median(batches.map((each, i) => each[key] / (bases[i]?.[key] ?? Number.NaN)))
  return {
    wallUs: median(batches.map((each) => each.wallUs)),
    cpuUs: median(batches.map((each) => each.cpuUs)),
    baseWallUs: median(bases.map((each) => each.wallUs)),
    baseCpuUs: median(bases.map((each) => each.cpuUs)),
    wallRatio: ratios('wallUs'),
    cpuRatio: ratios('cpuUs'),
    calls: calls * pairs,
  }
}
