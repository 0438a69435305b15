const TICK_MS = 1

/** How long this thread's loop stood still: the longest time by which a tick of a millisecond came late. */
export async function longestPauseMs(during: () => Promise<void>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const look = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last - TICK_MS)
    last = now
  }
  const timer = setInterval(look, TICK_MS)
  try {
    await during()
    look()
    return Math.max(0, longest)
  } finally {
    clearInterval(timer)
  }
}
