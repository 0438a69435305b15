import { readFileSync } from 'node:fs'

/** The memory that a process holds, or undefined where the system does not say (anywhere but on Linux). */
export function residentMb(pid: number): number | undefined {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? undefined : Number(found[1]) / 1024
  } catch {
    return undefined
  }
}
