// Prints how the source is cut into files and folders: `node scripts/structure.ts`.
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { noMutualFolders } from '../test/setup/architecture-rules.ts'
import { readSources, type SourceFile } from '../test/setup/source-file.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Tests and fixtures don't count: neither as files nor as importers. */
const ships = ({ path }: SourceFile): boolean => !/\.test\.tsx?$|\/fixtures\//.test(path)

const files = ['src', 'packages'].flatMap((folder) => readSources(root, folder)).filter(ships)
const lines = new Map(files.map(({ path, text }) => [path, text.split('\n').length - 1]))
const importers = new Map(files.map(({ path }) => [path, new Set<string>()]))
for (const { path, imports } of files) for (const { target } of imports) importers.get(target)?.add(path)

const sorted = [...lines.values()].sort((a, b) => a - b)
const single = files.filter(({ path }) => importers.get(path)?.size === 1)
const share = (part: number): string => `${Math.round((part / files.length) * 100)} %`

console.log(`files          ${files.length}`)
console.log(`lines          ${sorted.reduce((sum, count) => sum + count, 0)}`)
console.log(`median lines   ${sorted[sorted.length >> 1]}`)
console.log(`one importer   ${single.length} (${share(single.length)})`)
console.log(`over 400 lines ${sorted.filter((count) => count > 400).length}`)
console.log(`over 500 lines ${sorted.filter((count) => count > 500).length}`)

console.log('\nlines and files per folder')
for (const [folder, group] of grouped(files, ({ path }) => path.split('/').slice(0, 2).join('/'))) {
  const count = group.reduce((sum, { path }) => sum + (lines.get(path) ?? 0), 0)
  console.log(`${String(count).padStart(7)} ${String(group.length).padStart(4)}  ${folder}`)
}

console.log('\nfolders with more than 20 files')
for (const [folder, group] of grouped(files, ({ path }) => posix.dirname(path)))
  if (group.length > 20) console.log(`${String(group.length).padStart(4)}  ${folder}`)

const pairs = noMutualFolders(files)
console.log(`\nfolders that import each other: ${pairs.length}`)
for (const pair of pairs) console.log(`  ${pair}`)

function grouped<Item>(items: readonly Item[], key: (item: Item) => string): [string, Item[]][] {
  return [...Map.groupBy(items, key)].sort(([a], [b]) => (a < b ? -1 : 1))
}
