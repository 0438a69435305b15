/** `node bench/mini/recall.ts`: how often the tool that is meant is among those that are looked at closely. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { likelyTools, MOST_SCORED } from '../../src/models/mini/choose/tool-index.ts'
import type { OfferedTool } from '../../src/models/model.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'

const folder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
if (!existsSync(join(folder, 'bfcl'))) {
  console.log(`Skipped: there is no ${join(folder, 'bfcl')}. The data is that of github.com/ShishirPatil/gorilla.`)
  process.exit()
}
interface Asked {
  readonly said: string
  readonly meant: string
}

const report = async (name: string, tools: readonly OfferedTool[], asked: readonly Asked[]): Promise<void> => {
  await likelyTools(tools, 'warm up')
  const started = performance.now()
  let found = 0
  for (const { said, meant } of asked) if ((await likelyTools(tools, said)).some(({ name }) => name === meant)) found++
  const ms = (performance.now() - started) / asked.length
  const share = ((found / asked.length) * 100).toFixed(1)
  console.log(`| ${name} | ${tools.length} | ${asked.length} | ${share} % | ${ms.toFixed(2)} |`)
}

console.log(`| queries | tools | queries | among the ${MOST_SCORED} | ms |\n| --- | --- | --- | --- | --- |`)
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
const many = Array.from({ length: 5_000 }, (_, index): OfferedTool => {
  const tools = [...byName.values(), ...real.values()]
  const tool = tools[index % tools.length] as OfferedTool
  return index < tools.length ? tool : { ...tool, name: `${tool.name}_${index}` }
})
const building = performance.now()
await likelyTools(many, 'build the index')
console.log(`5,000 tools are indexed once, in ${(performance.now() - building).toFixed(0)} ms.`)
await report('bfcl, among 5,000 (each twice)', many, asked.slice(0, 200))
