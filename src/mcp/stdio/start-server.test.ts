import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, it } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { childrenOf, isRunning } from '../fixtures/running.ts'
import { Watchdog } from './start-server.ts'

let group: ChildProcess | undefined

afterEach(async () => {
  const ended = group === undefined ? undefined : once(group, 'exit')
  group?.kill('SIGKILL')
  await ended
})

it('does nothing to the group once it is stopped, and is gone', async () => {
  group = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' })
  await once(group, 'spawn')
  const pid = group.pid ?? 0
  const watchdog = new Watchdog(pid, silentLog)
  await watchdog.stop()
  expect(childrenOf(process.pid)).toEqual([pid])
  await watchdog.stop()
  // One that was still to act would have done so by the time another process has come and gone.
  await once(spawn('sh', ['-c', 'sleep 0.1']), 'exit')
  expect(isRunning(pid)).toBe(true)
})
