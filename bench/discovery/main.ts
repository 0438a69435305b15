// `npm run bench:discovery`: how often the right tool is found among many, and how many tokens the tools of a request have.
import { parseArgs } from 'node:util'
import { loadWordVectors } from '../../packages/mini/src/engine/word-vectors.ts'
import { ToolDiscovery, toolTokens } from '../../src/chat/discovery.ts'
import { ToolOffer } from '../../src/chat/tool-offer.ts'
import { ToolRegistry } from '../../src/core/execution/tool-registry.ts'
import type { OfferedTool } from '../../src/models/model.ts'
import { scripted } from '../../src/testing/stand-ins.ts'
import { changeBetweenMarkers } from '../between-markers.ts'
import { mean } from '../retrieval/bootstrap.ts'
import { median } from '../statistics.ts'
import { formerLookup } from './former-lookup.ts'
import { dataProblem, lists, ownRequests, type Request, realTools } from './tools.ts'

const PAGE = new URL('../../docs/internals/retrieval.md', import.meta.url)
const WRITTEN_BY = 'npm run bench:discovery -- --write-docs'
const SIZES = [100, 1_000, 5_000]
const MOST = 10
/** A search is repeated so often for one measurement of its time. */
const REPEATS = 5

const HELP = `npm run bench:discovery -- [options]

  --half NAME    even, odd or all of the requests of our own; tune with the even ones only. Default: even
  --write-docs   measures both halves, and puts the tables into docs/internals/retrieval.md

Needs the data sets in TOOLYARD_DATA_SETS (bfcl/ and mcp-tools/), and the packages of bench/ for its OpenAPI documents.
`

const { values } = parseArgs({
  options: {
    half: { type: 'string', default: 'even' },
    'write-docs': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

type Way = (said: string) => Promise<readonly string[]> | readonly string[]

/** A search of a list, as runs use it. */
function discoveryOf(tools: readonly OfferedTool[], vectors: boolean) {
  const registry = new ToolRegistry()
  for (const tool of tools) registry.register({ ...tool, implementation: { type: 'mock' } })
  return { discovery: new ToolDiscovery({ registry, ...(vectors && { vectors: loadWordVectors }) }), registry }
}

async function measured(requests: readonly Request[], real: Awaited<ReturnType<typeof realTools>>, size: number) {
  const found: Record<string, { five: number[]; ten: number[] }> = {}
  const [all, offered, times]: [number[], number[], number[]] = [[], [], []]
  for (const { tools, requests: asked } of lists(real, requests, size)) {
    if (tools.length < size) throw new Error(`There are ${tools.length} tools, not ${size}: run npm ci in bench/`)
    const { discovery, registry } = discoveryOf(tools, true)
    const words = discoveryOf(tools, false).discovery
    const former = formerLookup(tools)
    const by =
      (one: ToolDiscovery): Way =>
      async (said) =>
        (await one.search(said, tools, { most: MOST })).map(({ name }) => name)
    const ways: Readonly<Record<string, Way>> = {
      'lookup of mini until 0.2': (said) => former(said, MOST),
      'words only': by(words),
      'words and vectors': by(discovery),
    }
    const whole = new ToolOffer(registry).to()
    const total = tools.reduce((sum, tool) => sum + toolTokens(tool), 0)
    for (const { said, tools: wanted } of asked) {
      for (const [name, way] of Object.entries(ways)) {
        const place = (await way(said)).findIndex((one) => wanted.includes(one))
        const one = found[name] ?? { five: [], ten: [] }
        found[name] = one
        one.five.push(place >= 0 && place < 5 ? 1 : 0)
        one.ten.push(place >= 0 ? 1 : 0)
      }
      times.push(await cpuMs(() => by(discovery)(said)))
      const messages = [{ role: 'user' as const, content: said }]
      const chosen = await discovery.choose(whole, { model: scripted(), messages })
      all.push(total)
      offered.push((chosen?.tools ?? whole.tools).reduce((sum, tool) => sum + toolTokens(tool), 0))
    }
  }
  return { found, all: mean(all), offered: mean(offered), time: median(times) }
}

/** The CPU time of the process for one search, with that of other threads, such as garbage collection. */
async function cpuMs(search: () => unknown): Promise<number> {
  const began = process.cpuUsage()
  for (let again = 0; again < REPEATS; again++) await search()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1_000 / REPEATS
}

const share = (values: readonly number[]): string => mean(values).toFixed(3)
const count = (value: number): string => Math.round(value).toLocaleString('en')

async function tableOf(title: string, requests: readonly Request[], real: Awaited<ReturnType<typeof realTools>>) {
  const recalls = ['| tools | found by | recall@5 | recall@10 |', '| ---: | --- | ---: | ---: |']
  const tokens = [
    '| tools | tokens of all tools | tokens offered | time of a search, median |',
    '| ---: | ---: | ---: | ---: |',
  ]
  for (const size of SIZES) {
    const { found, all, offered, time } = await measured(requests, real, size)
    for (const [name, { five, ten }] of Object.entries(found)) {
      recalls.push(`| ${count(size)} | ${name} | ${share(five)} | ${share(ten)} |`)
    }
    tokens.push(`| ${count(size)} | ${count(all)} | ${count(offered)} | ${time.toFixed(1)} ms |`)
  }
  return { text: `${title}, ${requests.length} requests:\n\n${recalls.join('\n')}`, tokens: tokens.join('\n') }
}

async function run(): Promise<void> {
  if (values.help) return console.log(HELP)
  const problem = dataProblem()
  if (problem !== undefined) return console.log(`Skipped: ${problem}.`)
  const real = await realTools()
  const own = ownRequests()
  const half = (odd: number) => own.filter((_, at) => at % 2 === odd)
  if (!values['write-docs']) {
    const asked = values.half === 'all' ? own : half(values.half === 'odd' ? 1 : 0)
    const { text, tokens } = await tableOf(`Requests of our own (${values.half})`, asked, real)
    return console.log(`${text}\n\n${tokens}`)
  }
  const unseen = await tableOf('Requests of our own that nothing was tuned on', half(1), real)
  const seen = await tableOf('Requests of our own that the weights were tuned on', half(0), real)
  const bfcl = await tableOf('Requests of BFCL, simple_python and multiple', real.published, real)
  const every = await tableOf('', own, real)
  const report = [
    unseen.text,
    seen.text,
    bfcl.text,
    'What a request offers, and the time of a search by words and vectors, for all requests of our own:',
    every.tokens,
  ]
  changeBetweenMarkers(PAGE, WRITTEN_BY, () => report.join('\n\n'))
  console.log(report.join('\n\n'))
}

await run()
