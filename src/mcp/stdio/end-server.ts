import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '../../core/clock.ts'
import { within } from './within.ts'

/** How long a server has to end after its input ended, and again after SIGTERM. */
const GRACE_MS = 600
/**
 * How long the system has to carry out a SIGKILL. It is waited for in vain where the first process of a container does
 * not collect those that have ended: they count as members of the group for ever.
 */
const KILL_MS = 100
const POLL_MS = 10

const hasGroups = process.platform !== 'win32'

/**
 * Ends a server whose input has ended, and everything that it started: first by waiting, then by SIGTERM, then by
 * SIGKILL to its process group. One that died by itself leaves nothing worth waiting for. Windows has neither groups
 * nor signals: there `taskkill` ends the tree of the server, as far as the parents in it still live.
 */
export async function endServer(server: ChildProcess, clock: Clock): Promise<void> {
  if (!hasEnded(server)) {
    await within(GRACE_MS, clock, once(server, 'exit'))
    if (isGone(server)) return
    signal(server, 'SIGTERM')
    if (await gone(server, GRACE_MS, clock)) return
  }
  signal(server, 'SIGKILL')
  await gone(server, KILL_MS, clock)
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

async function gone(server: ChildProcess, ms: number, clock: Clock): Promise<boolean> {
  for (const end = clock.now() + ms; !isGone(server); ) {
    if (clock.now() >= end) return false
    await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve))
  }
  return true
}

function isGone(server: ChildProcess): boolean {
  if (!hasGroups) return hasEnded(server)
  try {
    process.kill(-(server.pid as number), 0)
    return false
  } catch (error) {
    // One that may not be signalled is there as well.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

function signal(server: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  const pid = server.pid as number
  if (!hasGroups) {
    spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore' }).on('error', () => server.kill())
    return
  }
  try {
    process.kill(-pid, name)
  } catch {
    // It ended meanwhile.
  }
}
