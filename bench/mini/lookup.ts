/**
 * `node -C toolyard-source bench/mini/lookup.ts`: how often the right tool is among the first 16 for a request of our own, in
 * the tools of MCP servers and the functions of BFCL: by the search of Toolyard, and by the vectors of the model among the
 * first 64 of that search, which is how `mini:v1` finds tools. Only the half of the requests that nothing was tuned on.
 */
import { pathToFileURL } from 'node:url'
import { findPackages } from '../../packages/mini/src/engine/find-packages.ts'
import { loadWordVectors } from '../../packages/mini/src/engine/word-vectors.ts'
import { headOf } from '../../packages/mini/src/fill/read-tool.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { ToolIndex } from '../../src/core/search/tool-index.ts'
import { miniWire } from '../../src/models/mini-wire.ts'
import type { OfferedTool } from '../../src/models/model.ts'
import { dataProblem, ownRequests, realTools } from '../discovery/tools.ts'
import { table } from '../table.ts'

const MOST = 16
const COMPARED = 64

const problem = dataProblem()
if (problem !== undefined) {
  console.log(`Skipped: ${problem}.`)
  process.exit(0)
}
const { tools } = await realTools(0)
const index = new ToolIndex(await loadWordVectors())
await index.update([...tools])
const engine = process.env.TOOLYARD_MINI_ENGINE
const find: typeof findPackages = (name) => ({
  ...findPackages(name),
  ...(engine !== undefined && { runtimes: [pathToFileURL(engine).href] }),
})
const wire = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock }, { find })
const known = new Map<string, number[]>()
const requests = ownRequests().filter(({ tools: wanted }, at) => at % 2 === 1 && wanted.some((name) => tools.has(name)))

const found = { search: [0, 0], model: [0, 0] }
for (const { said, tools: wanted } of requests) {
  const names = index.search(said, COMPARED, () => true)
  count(found.search, names, wanted)
  const own = await vectorOf(said)
  const scores = new Map<string, number>()
  for (const name of names) scores.set(name, dot(own, await vectorOf(headOf(tools.get(name) as OfferedTool))))
  count(
    found.model,
    names.toSorted((left, right) => (scores.get(right) ?? 0) - (scores.get(left) ?? 0)),
    wanted,
  )
}
await wire.close()
const share = (right = 0): string => `${((100 * right) / requests.length).toFixed(1)} %`
console.log(`${requests.length} requests, ${tools.size} tools\n`)
const rows = Object.entries(found).map(([name, [first, among]]) => [name, share(first), share(among)])
console.log(table(['by', 'first', `among ${MOST}`], rows))

function count(sums: number[], names: readonly string[], wanted: readonly string[]): void {
  const place = names.findIndex((name) => wanted.includes(name))
  sums[0] = (sums[0] ?? 0) + (place === 0 ? 1 : 0)
  sums[1] = (sums[1] ?? 0) + (place >= 0 && place < MOST ? 1 : 0)
}

async function vectorOf(text: string): Promise<number[]> {
  const vector = known.get(text) ?? (await wire.embed?.([text], AbortSignal.timeout(60_000)))?.[0] ?? []
  known.set(text, vector)
  return vector
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0)
}
