import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isAlive, until } from './fixtures/task.ts'
import { endsWithParent } from './launch.ts'

const host = new URL('./fixtures/host.ts', import.meta.url).pathname

async function killedHost(what: string): Promise<number> {
  const parent: ChildProcess = spawn(process.execPath, [host, what], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(parent.stdout as NonNullable<typeof parent.stdout>, 'data')
  const pid = Number(line)
  expect(isAlive(pid)).toBe(true)
  // Time for the call that loops to have got there.
  await new Promise((resolve) => setTimeout(resolve, 200))
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  return pid
}

describe('a host that uses the pool', () => {
  it('ends by itself when no call runs, though the pool was not closed, and its processes end with it', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [host, 'ends'])
    await until(() => !isAlive(Number(stdout)))
  })

  it('lives until a call that runs is done', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [host, 'works'])
    expect(stdout).toMatch(/^\d+\nworked\n$/)
  })

  it('takes its idle processes with it when it is killed', async () => {
    const pid = await killedHost('stays')
    await until(() => !isAlive(pid))
  })

  it.runIf(endsWithParent())('takes a process that loops for ever with it when it is killed', async () => {
    const pid = await killedHost('loops')
    await until(() => !isAlive(pid))
  })
})
