import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning } from '../is-running.ts'
import { waitUntil } from '../wait-until.ts'

/** Kills servers of a case as a crash would, and waits until they are gone. */
export async function endServers(pids: readonly number[], folder: string): Promise<void> {
  for (const pid of pids) if (isRunning(pid, folder)) process.kill(pid, 'SIGKILL')
  await waitUntil(() => !pids.some((pid) => isRunning(pid, folder)), 2000)
  // Whoever watches the process needs a moment to hear of it.
  await sleep(300)
}
