import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type Log, writeLog } from '../../core/log.ts'

/** Waits for the end of its input, which comes when we end, however that happens. */
const PROGRAM = 'read -r _; kill -s KILL -- "-$1"'

/** Ends a server's process group when our own process ends without having done so, be it by `kill -9`. */
export class Watchdog {
  readonly #process: ChildProcess

  constructor(groupId: number, log: Log) {
    this.#process = spawn('/bin/sh', ['-c', PROGRAM, 'sh', String(groupId)], {
      cwd: '/',
      env: {},
      // A group of its own: Ctrl-C in a terminal is not meant for it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#process.on('error', (error) => {
      writeLog(log, 'warn', { error: error.message }, 'No watchdog: the MCP server may outlive a crash of this process')
    })
    this.#process.stdin?.on('error', () => {})
    this.#process.unref()
    ;(this.#process.stdin as Socket | null)?.unref()
  }

  /** Called when the group is gone: its number may soon be another's. */
  async stop(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    this.#process.ref()
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
    this.#process.stdin?.destroy()
  }
}
