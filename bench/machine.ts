import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'

/** Where and when a run took place: without it no number means anything. */
export function machine() {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}

export type Machine = ReturnType<typeof machine>

export const describeMachine = (m: Machine): string =>
  `${m.date}, Node ${m.node}, ${m.cores} cores of ${m.cpu}, ${m.memoryGb} GB, ${m.system}; ` +
  `load average ${m.loadBefore} when the run began.`
