import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { within } from './within.ts'

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

const INHERITED: readonly string[] =
  process.platform === 'win32'
    ? [
        // Nothing can be started on Windows without the most of these.
        'APPDATA',
        'COMSPEC',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROCESSOR_ARCHITECTURE',
        'PROGRAMDATA',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'TMP',
        'USERNAME',
        'USERPROFILE',
        'WINDIR',
      ]
    : ['PATH', 'HOME', 'LANG', 'TMPDIR', 'USER', 'SHELL', 'TERM']

/** What a server sees of our environment: what it takes to run at all, and what its own `env` names. */
function serverEnvironment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const seen: Record<string, string> = {}
  for (const name of INHERITED) {
    const value = process.env[name]
    if (value !== undefined) seen[name] = value
  }
  return { ...seen, ...env }
}

/** How a server is started, as `mcpServers` has it. */
export interface ServerCommand {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/**
 * Starts a server in a process group of its own, so that all of it can be ended. Windows has no groups, and starts no
 * `.cmd` file without a shell: there a command such as `npx` is written `cmd` with the arguments `/c npx …`.
 */
export async function startServer(server: ServerCommand): Promise<ChildProcess> {
  try {
    const child = spawn(server.command, server.args ?? [], {
      env: serverEnvironment(server.env),
      cwd: server.cwd,
      detached: process.platform !== 'win32',
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    })
    await once(child, 'spawn')
    return child
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    // What Node says may quote arguments and variables, and with them secrets.
    const message = `Cannot start the MCP server ${JSON.stringify(server.command)}: ${await explain(code, server)}`
    throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
  }
}

async function explain(code: string, { command, cwd }: ServerCommand): Promise<string> {
  if (cwd !== undefined && !(await isDirectory(cwd)))
    return `its cwd ${JSON.stringify(cwd)} is not a directory. Correct "cwd".`
  const isPath = /[\\/]/.test(command)
  switch (code) {
    case 'ENOENT':
      return isPath
        ? 'there is no such file, or no program of the name in its first line. Correct "command".'
        : 'there is no such command in PATH. Install it, or give its whole path as "command".'
    case 'EACCES':
      return isPath
        ? 'the file is not executable. Make it so (chmod +x), or start it by its interpreter.'
        : 'what PATH has by this name is not executable. Give the whole path of the right one as "command".'
    default:
      return `the system refused (${code}). Check "command", "args" and "env".`
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
