import { type ChildProcess, spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import { processGuard } from './process-guard.ts'
import { codeFolder, readableFolders } from './readable-folders.ts'

const extension = extname(import.meta.filename)
const program = join(import.meta.dirname, `child${extension}`)

let guard: string[] | undefined

/** Whether a child is sure to end with us; where not, one that never returns to its event loop outlives us. */
export const endsWithParent = (): boolean => {
  guard ??= processGuard()
  return guard.includes('--pdeathsig')
}

export interface LaunchOptions {
  /** What it may read besides our code, and the packages that either uses. */
  readonly folders: readonly string[]
  readonly memoryMb: number
}

/** Starts a process that may read what it needs, and do little else. */
export function launch({ folders, memoryMb }: LaunchOptions): ChildProcess {
  guard ??= processGuard()
  const readable = new Set([codeFolder, ...folders].flatMap(readableFolders))
  const command = [
    ...guard,
    process.execPath,
    `--max-old-space-size=${memoryMb}`,
    '--permission',
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    // SQLite opens files without asking the permission model.
    '--no-experimental-sqlite',
    '--no-warnings',
    ...(extension === '.ts' ? ['--conditions=toolyard-source'] : []),
    program,
  ]
  return spawn(command[0] as string, command.slice(1), {
    cwd: '/',
    env: {},
    // A group of its own: Ctrl-C in a terminal is for us, and ends calls as cancelled.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
}
