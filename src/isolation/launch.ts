import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

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
  readonly addons?: boolean
}

/** Starts a process that may read what it needs, and do little else. */
export function launch({ folders, memoryMb, addons = false }: LaunchOptions): ChildProcess {
  guard ??= processGuard()
  const readable = new Set([codeFolder, ...folders].flatMap(readableFolders))
  const command = [
    ...guard,
    process.execPath,
    `--max-old-space-size=${memoryMb}`,
    '--permission',
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    ...(addons ? ['--allow-addons'] : []),
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

/**
 * Linux ends a process with its parent when asked to, even one that is caught in a loop; Node has no word for it, these
 * tools of util-linux do. `prlimit` keeps an abort for lack of memory from leaving a core dump.
 */
const GUARDS: readonly (readonly string[])[] = [
  ['/usr/bin/prlimit', '--core=0', '--'],
  ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'],
]

/** The words to put before a command, from those guards that work here. */
export function processGuard(guards: readonly (readonly string[])[] = GUARDS): string[] {
  return guards.flatMap((guard) => {
    const [program = '', ...args] = guard
    // A command that is sure to be there, and quick: our own process waits for it.
    const trial = [...args, program, '--version']
    const works = process.platform === 'linux' && spawnSync(program, trial, { stdio: 'ignore', env: {} }).status === 0
    return works ? guard : []
  })
}

/** The folder of our own code: `src` here, `dist` where installed. */
const codeFolder = resolve(import.meta.dirname, '..')

/** Stands for the folder of our own code, which every process may read. */
export const OWN = ''

/** The folder whose processes a module runs in, as these alone may read it; undefined where it is no `file:` URL. */
export function moduleFolder(module: string): string | undefined {
  try {
    const path = fileURLToPath(module)
    return path.startsWith(codeFolder + sep) ? OWN : dirname(path)
  } catch {
    return undefined
  }
}

/**
 * What code in `folder` needs to read to be loaded: the folder, and on the way up the places where Node looks for
 * packages and for the `package.json` that says which module system a file is in.
 */
export function readableFolders(folder: string): string[] {
  const readable = new Set([folder])
  const add = (path: string) => {
    if (existsSync(path)) readable.add(path).add(realpathSync(path))
  }
  add(folder)
  for (const start of [...readable]) {
    for (let at = start; ; at = dirname(at)) {
      add(basename(at) === 'node_modules' ? at : join(at, 'node_modules'))
      add(join(at, 'package.json'))
      if (at === dirname(at)) break
    }
  }
  return [...readable]
}

/** How often the memory of working processes is looked at. */
const WATCH_MS = 50

/** What Node itself, its young generation and the code that is loaded take on top of the heap. */
const MEMORY_ALLOWANCE_MB = 128

interface Watched {
  readonly pid: number | undefined
  readonly memoryMb: number
  endForMemory(): void
}

/**
 * Ends processes that hold more memory than their heap and the allowance: V8's own limit leaves out buffers. Its timer
 * is also what keeps our process alive while there are calls, as the children and their channels do not.
 */
export class MemoryWatch {
  readonly #working: () => Iterable<Watched>
  #timer: NodeJS.Timeout | undefined

  constructor(working: () => Iterable<Watched>) {
    this.#working = working
  }

  set active(active: boolean) {
    if (active) {
      this.#timer ??= setInterval(() => this.#look(), WATCH_MS)
    } else {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  #look(): void {
    for (const process of [...this.#working()]) {
      const used = process.pid === undefined ? undefined : residentMb(process.pid)
      if (used !== undefined && used > process.memoryMb + MEMORY_ALLOWANCE_MB) process.endForMemory()
    }
  }
}

/** The memory that a process holds, or undefined where the system does not say (anywhere but on Linux). */
function residentMb(pid: number): number | undefined {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? undefined : Number(found[1]) / 1024
  } catch {
    return undefined
  }
}
