const TICK_MS = 1

export interface LoopPauses {
  /** The longest time by which a tick of a millisecond came late: this thread was busy, or the machine was. */
  readonly longestMs: number
  /** The most CPU that this thread used between two ticks: what it did itself. */
  readonly longestCpuMs: number
}

/** How long this thread's loop stands still while something happens. */
export async function loopPauses(during: () => Promise<void>): Promise<LoopPauses> {
  let [longestMs, longestCpuMs] = [0, 0]
  let [last, lastCpu] = [performance.now(), cpuMs()]
  const look = () => {
    const [now, cpu] = [performance.now(), cpuMs()]
    longestMs = Math.max(longestMs, now - last - TICK_MS)
    longestCpuMs = Math.max(longestCpuMs, cpu - lastCpu)
    last = now
    lastCpu = cpu
  }
  const timer = setInterval(look, TICK_MS)
  try {
    await during()
    look()
    return { longestMs, longestCpuMs }
  } finally {
    clearInterval(timer)
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
