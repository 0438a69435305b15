// Prints what an import loads and how long it takes: `node scripts/import-weight.ts [module]`. Measures dist/ if it is built.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
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

async function main(): Promise<void> {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const built = resolve(root, 'dist/index.js')
  const file = resolve(process.argv[2] ?? (existsSync(built) ? built : resolve(root, 'src/index.ts')))
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
