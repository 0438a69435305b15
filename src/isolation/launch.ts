import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const extension = extname(import.meta.filename)
const program = join(import.meta.dirname, `child${extension}`)

let guard: string[] | undefined

/** Whether children are sure to end with us. Otherwise one in an endless loop outlives us. */
export const endsWithParent = (): boolean => {
  guard ??= processGuard()
  return guard.includes('--pdeathsig')
}

export interface LaunchOptions {
  /** Folders it may read, besides our code and the packages of both. */
  readonly folders: readonly string[]
  readonly memoryMb: number
  /** Allows native addons, which the permission model can't restrict. */
  readonly trusted?: boolean
}

export function launch({ folders, memoryMb, trusted = false }: LaunchOptions): ChildProcess {
  guard ??= processGuard()
  const readable = new Set([codeFolder, ...folders].flatMap(readableFolders))
  const command = [
    ...guard,
    process.execPath,
    `--max-old-space-size=${memoryMb}`,
    '--permission',
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    ...(trusted ? ['--allow-addons'] : []),
    // SQLite opens files without asking the permission model.
    '--no-experimental-sqlite',
    '--no-warnings',
    ...(extension === '.ts' ? ['--conditions=toolyard-source'] : []),
    program,
  ]
  return spawn(command[0] as string, command.slice(1), {
    cwd: '/',
    env: {},
    // A process group of its own: Ctrl-C in a terminal reaches only us, and we cancel the calls.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
}

/**
 * Linux can kill a process when its parent ends, even in an endless loop. Node.js has no option for it, but util-linux
 * does. `prlimit` prevents core dumps when the memory runs out.
 */
const GUARDS: readonly (readonly string[])[] = [
  ['/usr/bin/prlimit', '--core=0', '--'],
  ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'],
]

export function processGuard(guards: readonly (readonly string[])[] = GUARDS): string[] {
  return guards.flatMap((guard) => {
    const [program = '', ...args] = guard
    // Runs the tool itself as the command: it exists and ends at once.
    const trial = [...args, program, '--version']
    const works = process.platform === 'linux' && spawnSync(program, trial, { stdio: 'ignore', env: {} }).status === 0
    return works ? guard : []
  })
}

/** The folder of our own code: `src` in the repository, `dist` in the package. */
const codeFolder = resolve(import.meta.dirname, '..')

/** Stands for our own code, which every process may read. */
export const OWN = ''

/** The folder of a module: only processes of that folder may read it. Undefined if it isn't a `file:` URL. */
export function moduleFolder(module: string): string | undefined {
  try {
    const path = fileURLToPath(module)
    return path.startsWith(codeFolder + sep) ? OWN : dirname(path)
  } catch {
    return undefined
  }
}

/**
 * The paths that Node.js reads to load code in `folder`: the folder itself, and `node_modules` and `package.json` in it
 * and its parents.
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

const WATCH_MS = 50

/** Memory of Node.js, its young generation and loaded code, on top of the heap. */
const MEMORY_ALLOWANCE_MB = 128

interface Watched {
  readonly pid: number | undefined
  readonly memoryMb: number
  endForMemory(): void
}

/**
 * Kills processes that use more memory than their heap limit and the allowance: V8's own limit excludes buffers. Its
 * timer also keeps our process alive during calls: the children and their channels are unreferenced.
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

/** The resident memory of a process; undefined except on Linux. */
function residentMb(pid: number): number | undefined {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? undefined : Number(found[1]) / 1024
  } catch {
    return undefined
  }
}
