// Prints what the packages weigh: what an install has, and what an import loads and how long it takes.
// `node scripts/import-weight.ts [module]`, with a module of an install, or the sources.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const RUNS = 9
const run = promisify(execFile)

/** Prints the addresses of the files that an import loads. */
const COUNT = `
import { registerHooks } from 'node:module'
const files = new Set()
registerHooks({ load(url, context, next) { if (url.startsWith('file:')) files.add(url); return next(url, context) } })
await import(process.argv[1])
console.log(JSON.stringify([...files]))`

const TIME = `
const start = performance.now()
const before = process.cpuUsage()
await import(process.argv[1])
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ wall: performance.now() - start, cpu: (user + system) / 1_000 }))`

/** A busy machine makes the wall time useless; the CPU time says what it would be. */
interface Times {
  readonly wall: number
  readonly cpu: number
}

async function inNewProcess(program: string, url: string): Promise<unknown> {
  const args = ['-C', 'toolyard-source', '--input-type=module', '-e', program, url]
  const { stdout, stderr } = await run(process.execPath, args)
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout)
}

/** The files that an import loads, by package; those of Toolyard under `toolyard`. */
export async function loadedFiles(file: string): Promise<Map<string, string[]>> {
  const files = (await inNewProcess(COUNT, pathToFileURL(file).href)) as string[]
  return Map.groupBy(files, (url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'toolyard')
}

interface Locked {
  readonly name?: string
  readonly version?: string
  readonly resolved?: string
  readonly link?: true
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The packages that an install has on this machine, by their places in the lock file. '' is Toolyard. */
export function installedPackages(root: string, start: '' | 'packages/core'): Map<string, Locked> {
  const lock: Record<string, Locked> = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const found = new Map<string, Locked>()
  const add = (given: string): void => {
    const place = lock[given]?.link ? (lock[given]?.resolved as string) : given
    const one = lock[place]
    const fits = one?.os?.includes(process.platform) !== false && one?.cpu?.includes(process.arch) !== false
    if (one === undefined || found.has(place) || !fits) return
    found.set(place, one)
    for (const name of Object.keys({ ...one.dependencies, ...one.optionalDependencies }))
      add(placeOf(lock, place, name))
  }
  add(start)
  return found
}

/** Where Node.js finds a package: beside the one that needs it, or further up. */
function placeOf(lock: Readonly<Record<string, Locked>>, from: string, name: string): string {
  for (let at = from; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
    const place = posix.join(at, 'node_modules', name)
    if (place in lock || at === '') return place
  }
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? sum : sum + bytesIn(path)
    return entry.isFile() ? sum + statSync(path).size : sum
  }, 0)
}

async function main(): Promise<void> {
  const root = fileURLToPath(new URL('..', import.meta.url))
  for (const [name, start] of [
    ['@toolyard/core', 'packages/core'],
    ['toolyard', ''],
  ] as const) {
    const packages = installedPackages(root, start)
    // Our own packages are small, and not built here.
    const others = [...packages.keys()].filter((place) => place.includes('node_modules/'))
    const bytes = others.reduce((sum, place) => sum + bytesIn(join(root, place)), 0)
    console.log(`${name}: ${packages.size} packages, ${Math.round(bytes / 1e6)} MB besides our own`)
  }
  const file = resolve(process.argv[2] ?? resolve(root, 'src/index.ts'))
  const groups = await loadedFiles(file)
  const total = [...groups.values()].reduce((sum, files) => sum + files.length, 0)
  const times: Times[] = []
  for (let at = 0; at < RUNS; at++) times.push((await inNewProcess(TIME, pathToFileURL(file).href)) as Times)
  const median = (of: (times: Times) => number) => Math.round(times.map(of).sort((a, b) => a - b)[RUNS >> 1] as number)
  console.log(file)
  console.log(`${total} modules, ${median(({ wall }) => wall)} ms, of CPU ${median(({ cpu }) => cpu)} ms (medians)`)
  for (const [name, files] of groups) console.log(`${String(files.length).padStart(5)}  ${name}`)
}

if (import.meta.main) await main()
