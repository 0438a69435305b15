// Prints how the source is cut into files and folders, and the figures that have a budget: `npm run structure`.
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'
import { noMutualFolders } from '../test/setup/architecture-rules.ts'
import { readSources, type SourceFile } from '../test/setup/source-file.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Tests and fixtures don't count: neither as files nor as importers. */
const ships = ({ path }: SourceFile): boolean => !/\.test\.tsx?$|\/fixtures\//.test(path)

const files = ['src', 'packages', 'web'].flatMap((folder) => readSources(root, folder)).filter(ships)
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

console.log('\nfigure                                              now   budget')
budget('lines of the house: src and web', linesOf(/^(src|web)\//), 88_000)
budget('lines of everything', linesOf(/./), 112_000)
const APPROVAL_HOMES = /^src\/(features\/approvals|faces|sources\/agent)\//
budget('files of src that name approval, outside its folder', naming('approval', /^src\//, APPROVAL_HOMES), 15)
const FOREIGN = /^(src\/(storage|models|knowledge|telemetry)|packages\/knowledge)\//
budget('those of storage, models, knowledge, telemetry', naming('approval', FOREIGN), 0)
const execute = methodOf('ToolExecutor', 'execute')
budget('lines of ToolExecutor.execute', execute.lines, 60)
budget('branches of ToolExecutor.execute', execute.branches, 8)

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

function budget(what: string, now: number, most: number): void {
  const columns = [what.padEnd(52), String(now).padStart(7), String(most).padStart(8)]
  console.log(`${columns.join('')}${now > most ? '  over' : ''}`)
}

function linesOf(paths: RegExp): number {
  return files.reduce((sum, { path }) => sum + (paths.test(path) ? (lines.get(path) ?? 0) : 0), 0)
}

/** How many files contain a word, in any case. */
function naming(word: string, paths: RegExp, except = /^$/): number {
  const named = files.filter(({ path }) => paths.test(path) && !except.test(path))
  return named.filter(({ text }) => text.toLowerCase().includes(word)).length
}

/** The size of a method: its lines, and the places where it decides. */
function methodOf(className: string, name: string): { lines: number; branches: number } {
  for (const { path, text } of files) {
    if (!text.includes(`class ${className} `)) continue
    let found: { start: number; end: number } | undefined
    let within = false
    const decisions: number[] = []
    const decide = ({ start }: { start: number }) => void decisions.push(start)
    new Visitor({
      ClassDeclaration: ({ id }) => {
        within = id?.name === className
      },
      MethodDefinition: ({ key, start, end }) => {
        if (within && key.type === 'Identifier' && key.name === name) found = { start, end }
      },
      IfStatement: decide,
      ConditionalExpression: decide,
      LogicalExpression: decide,
      ForStatement: decide,
      ForInStatement: decide,
      ForOfStatement: decide,
      WhileStatement: decide,
      DoWhileStatement: decide,
      SwitchCase: decide,
    }).visit(parseSync(path, text).program)
    if (found === undefined) continue
    const { start, end } = found
    const branches = decisions.filter((at) => at > start && at < end).length
    return { lines: text.slice(start, end).split('\n').length, branches }
  }
  throw new Error(`There is no method ${className}.${name}`)
}
