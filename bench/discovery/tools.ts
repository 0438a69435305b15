import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { textIn } from '../../src/models/content.ts'
import type { OfferedTool } from '../../src/models/model.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'
import { operationTools } from '../mini/operation-tools.ts'
import { numbers } from '../retrieval/bootstrap.ts'

export interface Request {
  readonly said: string
  /** Each of these tools can do it. */
  readonly tools: readonly string[]
}

/** A tool as it is published, and its name in a data set that writes it otherwise. */
export interface RealTools {
  readonly tools: ReadonlyMap<string, OfferedTool>
  /** Requests that come with their functions. */
  readonly published: readonly Request[]
}

const DATA = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
const REQUESTS = new URL('./requests.jsonl', import.meta.url)
const CATEGORIES = [
  ...['simple_python', 'multiple', 'parallel', 'parallel_multiple', 'live_simple'],
  ...['irrelevance', 'simple_java', 'simple_javascript'],
]
const ASKED: ReadonlySet<string> = new Set(['simple_python', 'multiple'])
const OPERATIONS = 5_000

export const dataProblem = (): string | undefined =>
  existsSync(join(DATA, 'bfcl')) && existsSync(join(DATA, 'mcp-tools'))
    ? undefined
    : `There is no ${DATA} with bfcl/ (github.com/ShishirPatil/gorilla) and mcp-tools/ (what MCP servers answer to tools/list)`

/** The requests of our own. */
export const ownRequests = (): Request[] =>
  readFileSync(REQUESTS, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Request)

/** Tools of MCP servers and functions of BFCL, then operations of OpenAPI documents. */
export async function realTools(operations = OPERATIONS): Promise<RealTools> {
  const real = new Map<string, OfferedTool>()
  const published: Request[] = []
  for (const file of readdirSync(join(DATA, 'mcp-tools')).filter((one) => one.endsWith('.json'))) {
    for (const tool of JSON.parse(readFileSync(join(DATA, 'mcp-tools', file), 'utf8')).tools ?? []) {
      const { name, description = '', inputSchema: parameters } = tool
      if (!real.has(name)) real.set(name, { name, description, parameters })
    }
  }
  for (const category of CATEGORIES) {
    for (const { turns, tools, about } of (await loadBfcl(category, DATA)).cases) {
      for (const tool of tools) if (!real.has(tool.name)) real.set(tool.name, tool)
      const said = textIn(turns[0]?.at(-1)?.content ?? null)
      if (about.length === 1 && ASKED.has(category)) published.push({ said, tools: about })
    }
  }
  const tools = new Map(shuffled([...real.values()]).map((tool) => [tool.name, tool]))
  for (const tool of await operationTools(operations)) if (!tools.has(tool.name)) tools.set(tool.name, tool)
  return { tools, published }
}

/** In an order that is drawn once, so that a short list has tools of all sources. */
function shuffled<One>(all: readonly One[]): One[] {
  const next = numbers(11)
  return all
    .map((one) => ({ one, lot: next() }))
    .sort((a, b) => a.lot - b.lot)
    .map(({ one }) => one)
}

/** Lists of so many tools, each with the requests that its tools answer. All requests are asked of one list. */
export function lists(
  { tools }: RealTools,
  requests: readonly Request[],
  size: number,
): { readonly tools: OfferedTool[]; readonly requests: readonly Request[] }[] {
  const most = Math.max(1, Math.floor(size / 4))
  const made = []
  for (let from = 0; from < requests.length; from += most) {
    const asked = requests.slice(from, from + most)
    const wanted = new Set(asked.flatMap((request) => request.tools))
    const list = [...tools.values()].filter(({ name }) => wanted.has(name))
    for (const tool of tools.values()) {
      if (list.length >= size) break
      if (!wanted.has(tool.name)) list.push(tool)
    }
    made.push({ tools: list, requests: asked })
  }
  return made
}
