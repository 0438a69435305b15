import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Verdict } from './case.ts'
import { isRunning } from './is-running.ts'
import { serverPids } from './journal.ts'
import type { CaseMessage } from './run-case.ts'

/** What a case came to, and whose runtime it was, where that could be loaded. */
export interface Finding extends Verdict {
  readonly name?: string
  readonly packages?: readonly string[]
}

const CHILD = fileURLToPath(new URL('./run-case.ts', import.meta.url))
/** No case waits this long for anything: one that takes longer hangs in the runtime. */
const LONGEST_MS = 45_000
/** A process whose event loop does not turn for this long is frozen. */
const FROZEN_MS = 5000
/** For leaving in good order, after the verdict. */
const LEAVE_MS = 4000
/** For the last lines of a process that has ended, where somebody it left behind keeps the pipe open. */
const READ_ON_MS = 1000

/** The processes under way, each with the folder of its case: an end in the middle leaves none behind. */
const running = new Map<ChildProcess, string>()
process.on('exit', () => {
  for (const [child, folder] of running) {
    endGroup(child)
    cleanUp(folder)
  }
})

/** Runs a case on the runtime of an adapter's module in a process of its own, and leaves none behind. */
export async function runInChild(file: string, id: string): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'))
  try {
    return await watch(start(file, id, folder))
  } finally {
    cleanUp(folder)
  }
}

function cleanUp(folder: string): void {
  for (const pid of serverPids(folder)) if (isRunning(pid, folder)) process.kill(pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

function start(file: string, id: string, folder: string): ChildProcess {
  const child = fork(CHILD, [file, id, folder], {
    // A small heap, so that a case about memory is over soon and harms nobody.
    execArgv: ['--conditions=toolyard-source', '--max-old-space-size=512', '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // A group of its own, which can be ended whole.
    detached: true,
  })
  running.set(child, folder)
  return child
}

/** Waits for what a case comes to, and for the end of its process. */
function watch(child: ChildProcess): Promise<Finding> {
  return new Promise((resolve) => {
    let about: Pick<Finding, 'name' | 'packages'> = {}
    let verdict: Verdict | undefined
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-20_000)
    })
    const ended = new Promise((resolve) => child.stderr?.once('end', resolve))
    const fail = (reason: string) => {
      verdict ??= { status: 'fail', reason }
      endGroup(child)
    }
    const limit = setTimeout(fail, LONGEST_MS, `The runtime was still at it after ${LONGEST_MS / 1000} s`)
    let timer: NodeJS.Timeout | undefined
    child.on('message', (message: CaseMessage) => {
      clearTimeout(timer)
      if (message.type === 'verdict') verdict = { status: message.status, reason: message.reason }
      if (message.type === 'adapter') about = { name: message.name, packages: message.packages }
      if (verdict !== undefined) timer = setTimeout(endGroup, LEAVE_MS, child)
      else timer = setTimeout(fail, FROZEN_MS, 'The whole process stood still')
    })
    // Not 'close': servers that were left behind may hold the other end of the pipe.
    child.on('exit', async (code, signal) => {
      clearTimeout(limit)
      clearTimeout(timer)
      await Promise.race([ended, sleep(READ_ON_MS)])
      endGroup(child)
      running.delete(child)
      child.stderr?.destroy()
      verdict ??= { status: 'fail', reason: `The whole process ended: ${lastWords(errors, signal ?? code)}` }
      resolve({ ...about, ...verdict })
    })
  })
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has no processes any more.
  }
}

/** The line of an error report that says what happened. */
function lastWords(errors: string, end: string | number | null): string {
  const lines = errors.split('\n').map((line) => line.trim())
  const line = lines.findLast((each) => /^(FATAL ERROR|\w*Error\b)/.test(each)) ?? `exit ${end}`
  return line.length > 160 ? `${line.slice(0, 160)}…` : line
}
