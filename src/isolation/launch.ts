import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataFolder } from '../core/environment.ts'
import { connectionGuard } from './connection-guard.ts'

const extension = extname(import.meta.filename)
const program = join(import.meta.dirname, `child${extension}`)

let guard: string[] | undefined

/** Whether `--permission` also refuses the network, as from Node.js 25 on. */
export const limitsNetwork = (): boolean => process.allowedNodeEnvironmentFlags.has('--allow-net')

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
  /** Allows worker threads. */
  readonly workers?: boolean
  /** Allows connections, if this Node.js can refuse them. */
  readonly network?: boolean
}

export function launch(options: LaunchOptions): ChildProcess {
  const { folders, memoryMb, trusted = false, workers = false, network = false } = options
  guard ??= processGuard()
  const readable = new Set([codeFolder, ...folders].flatMap(readableFolders))
  const command = [
    ...guard,
    process.execPath,
    `--max-old-space-size=${memoryMb}`,
    // One thread for garbage and compilation instead of four: a process with a model in WebAssembly needs 50 MB less.
    '--v8-pool-size=1',
    '--permission',
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    ...(trusted ? ['--allow-addons'] : []),
    ...(workers ? ['--allow-worker'] : []),
    ...(network && limitsNetwork() ? ['--allow-net'] : []),
    // SQLite opens files without asking the permission model.
    '--no-experimental-sqlite',
    '--no-warnings',
    ...(extension === '.ts' ? ['--conditions=toolyard-source'] : []),
    program,
  ]
  const child = spawn(command[0] as string, command.slice(1), {
    cwd: '/',
    env: {},
    // A process group of its own: Ctrl-C in a terminal reaches only us, and we cancel the calls.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
  if (network || !limitsNetwork()) connectionGuard.watch(child)
  return child
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
 * The paths that Node.js reads to load code in `folder`: the folder itself without the server's secrets, and
 * `node_modules` and `package.json` in it and its parents.
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
  const hidden = [dataFolder(process.env), resolve('.env')].flatMap((path) => [path, realPath(path)])
  return [...readable].flatMap((path) => withoutSecrets(path, hidden))
}

const realPath = (path: string): string => (existsSync(path) ? realpathSync(path) : path)
const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep)

/** Node.js can't exclude a path from a readable folder, so a folder with secrets becomes the list of its other entries. */
function withoutSecrets(path: string, hidden: readonly string[]): string[] {
  if (hidden.some((secret) => isIn(path, secret))) return []
  if (!existsSync(path) || !statSync(path).isDirectory()) return [path]
  const names = readdirSync(path)
  const shown = names.filter((name) => !name.startsWith('.env'))
  if (shown.length === names.length && !hidden.some((secret) => isIn(secret, path))) return [path]
  return shown.flatMap((name) => withoutSecrets(join(path, name), hidden))
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
