import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { type Clock, within } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'

/** Waits for the end of its input, which closes when this process ends for any reason. */
const PROGRAM = 'read -r _; kill -s KILL -- "-$1"'

/** Ends a server's process group if this process dies without doing so, even by `kill -9`. */
export class Watchdog {
  readonly #process: ChildProcess

  constructor(groupId: number, log: Log) {
    this.#process = spawn('/bin/sh', ['-c', PROGRAM, 'sh', String(groupId)], {
      cwd: '/',
      env: {},
      // Its own group, so that Ctrl-C in a terminal doesn't end it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#process.on('error', (error) => {
      writeLog(
        log,
        'warn',
        { error: error.message },
        'Cannot start the watchdog: the MCP server may outlive a crash of this process',
      )
    })
    this.#process.stdin?.on('error', () => {})
    this.#process.unref()
    ;(this.#process.stdin as Socket | null)?.unref()
  }

  /** Called after the group ended, because its id may be reused. */
  async stop(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    this.#process.ref()
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
    this.#process.stdin?.destroy()
  }
}

/** Time for a server to exit after its input closed, and again after SIGTERM. */
const GRACE_MS = 600
/** Time to wait after SIGKILL. In a container whose first process doesn't reap zombies, a group never ends. */
const KILL_MS = 100
const POLL_MS = 10

const hasGroups = process.platform !== 'win32'

/**
 * Ends a server whose input is closed, with all its child processes: waits, then sends SIGTERM, then SIGKILL to the
 * process group. On Windows, which has no groups, `taskkill` ends the process tree.
 */
export async function endServer(server: ChildProcess, clock: Clock): Promise<void> {
  if (!hasEnded(server)) {
    await within(GRACE_MS, once(server, 'exit'), clock)
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
    // Any other error, such as EPERM, means that it exists.
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
  } catch {}
}

const INHERITED: readonly string[] =
  process.platform === 'win32'
    ? [
        // Most programs need these on Windows.
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

/** How programs reach the network behind a proxy or with certificates of a company. */
const NETWORK = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE']

/** The environment of a server: a few variables of this process, and its own. */
function serverEnvironment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const seen: Record<string, string> = {}
  for (const name of [...INHERITED, ...NETWORK, ...NETWORK.map((name) => name.toLowerCase())]) {
    const value = process.env[name]
    if (value !== undefined) seen[name] = value
  }
  return { ...seen, ...env }
}

/** The command of a server, as in `mcpServers`. */
export interface ServerCommand {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/**
 * Starts a server in its own process group. On Windows, which needs a shell for `.cmd` files, write `npx …` as `cmd`
 * with the arguments `/c npx …`.
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
    // Node's message may contain arguments and variables, and so secrets.
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
        ? 'the file, or the interpreter in its first line, does not exist. Correct "command".'
        : 'the command is not in PATH. Install it, or write its full path as "command".'
    case 'EACCES':
      return isPath
        ? 'the file is not executable. Run chmod +x, or start it with its interpreter.'
        : 'the file of this name in PATH is not executable. Write the full path of the right one as "command".'
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
