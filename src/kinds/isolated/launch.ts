import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import { codeFolder, readableFolders } from './readable-folders.ts'

const extension = extname(import.meta.filename)
const program = join(import.meta.dirname, `child${extension}`)

/**
 * Linux ends a process with its parent when asked to, even one that is caught in a loop, and Node has no word for it;
 * these two tools of util-linux do. `prlimit` keeps an abort for lack of memory from leaving a core dump.
 */
const [limiter, guardian] = ['/usr/bin/prlimit', '/usr/bin/setpriv'].map((path) => existsSync(path) && path)

/** Whether a child is sure to end with us; elsewhere one that never returns to its event loop stays. */
export const endsWithParent = Boolean(guardian)

export interface LaunchOptions {
  /** What it may read besides our code, and the packages that either uses. */
  readonly folders: readonly string[]
  readonly memoryMb: number
}

/** Starts a process that may read what it needs, and do little else. */
export function launch({ folders, memoryMb }: LaunchOptions): ChildProcess {
  const readable = new Set([codeFolder, ...folders].flatMap(readableFolders))
  const command = [
    ...(limiter ? [limiter, '--core=0', '--'] : []),
    ...(guardian ? [guardian, '--pdeathsig', 'KILL', '--no-new-privs', '--'] : []),
    process.execPath,
    `--max-old-space-size=${memoryMb}`,
    '--permission',
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    // SQLite opens files without asking the permission model.
    '--no-experimental-sqlite',
    '--no-warnings',
    ...(extension === '.ts' ? ['--conditions=source'] : []),
    program,
  ]
  return spawn(command[0] as string, command.slice(1), {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
}
